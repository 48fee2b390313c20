//===- Passes.td - passes over attn modules ---------------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// In the order in which the pipeline runs them: stepped, fused, quantised, outlined, planned.

#ifndef ATTN_PASSES
#define ATTN_PASSES

include "mlir/Pass/PassBase.td"

class Attn_ModulePass<string argument> : Pass<argument, "::mlir::ModuleOp"> {
  let dependentDialects = ["::attn::AttnDialect", "::mlir::func::FuncDialect"];
}
class Attn_FunctionPass<string argument> : Pass<argument, "::mlir::func::FuncOp"> {
  let dependentDialects = ["::attn::AttnDialect"];
}

//===----------------------------------------------------------------------===//
// stepped
//===----------------------------------------------------------------------===//

def DeriveEntries : Attn_ModulePass<"attn-derive-entries"> {
  let summary = "Derives the entries of a bundle from `encode` and `decode`";
  let description = [{
    Needs: functions `encode` (source_ids, source_lengths to memory) and `decode` (target_ids, memory, source_lengths
    to logits), axes named; or neither of them, as in a module of graphs, which stays as it is.
    Of an encoder that stands alone, `predict` (its last argument `rows`, to `logits`); of a decoder that stands
    alone, `decode` (target_ids to logits), from which comes `prefill` as well: a step over all of a prompt.

    Leaves: `encode` (writes states, returns nothing), `step`, `logits`, `score` and, where the decoder attends
    to the source, `attend`; no `decode`. Values of `decode` that depend on the source alone are computed in
    `encode`; the linear outputs among them that `decode` needs are states, and views of them stay with the reader.

    Before:
    ```mlir
    func.func @decode(%ids, %memory, %lengths) {
      %k = attn.linear %memory, %wk : ...
      %keys = attn.split_heads %k into 8 : ...
      %scores = attn.matmul %queries, %keys transposed : ...
    ```
    After:
    ```mlir
    func.func @encode(%source_ids, %source_lengths) {
      %k = attn.linear %memory, %wk : ...
      attn.write_state %k, @cross_keys_0 : ...
    func.func @step(%ids, %positions, %sources, %ancestors, %source_lengths) {
      %k = attn.read_state @cross_keys_0 : ...
      %shared = attn.split_heads %k into 8 : ...
      %keys = attn.take %shared, %sources : ...
      %scores = attn.matmul %queries, %keys transposed : ...
    ```
  }];
  let statistics = [
    Statistic<"numCaches", "num-caches", "Caches of self-attention">,
    Statistic<"numSourceStates", "num-source-states", "States that depend on the source alone">,
  ];
}

//===----------------------------------------------------------------------===//
// fused
//===----------------------------------------------------------------------===//

def MergeProjections : Attn_ModulePass<"attn-merge-projections"> {
  let summary = "Makes one matmul of the projections of one input";
  let description = [{
    Needs: entries. Leaves: linears of one input are one linear and slices, their weights joined, if heads, other
    linears and pointwise operations that would be no epilogue alone read them, and the weights are stored alike
    (all from a file in one layout, or all literal); keys and values of one source are one state. Remarks say why
    other linears of one input stay apart, but for those that gate each other: one kernel computes those anyway.

    Before:
    ```mlir
    %q = attn.linear %x, %wq : ...
    %k = attn.linear %x, %wk : ...
    %queries = attn.split_heads %q into 8 : ...
    %keys = attn.split_heads %k into 8 : ...
    ```
    After:
    ```mlir
    %0 = attn.linear %x, %w : ...
    %q = attn.slice %0 at 0 width 512 : ...
    %k = attn.slice %0 at 512 width 512 : ...
    ```
  }];
  let statistics = [
    Statistic<"numMerged", "num-merged", "Linears that became part of another">,
    Statistic<"numStatesMerged", "num-states-merged", "States that became part of another">,
  ];
}

def MaskRecurrences : Attn_FunctionPass<"attn-mask-recurrences"> {
  let summary = "Writes the lengths of recurrences as selections inside of their bodies";
  let description = [{
    Needs: nothing. Leaves: no recurrence with `lengths`; its body has a sequence more, which tells live positions
    from padding.

    Before:
    ```mlir
    %y, %last = attn.recurrence over (%x) init (%h) lengths %lengths : ... {
    ^bb0(%now, %state):
      ...
      attn.yield %next, %next : ...
    ```
    After:
    ```mlir
    %live = attn.live %x, %lengths : ...
    %y, %last = attn.recurrence over (%x, %live) init (%h) : ... {
    ^bb0(%now, %isLive, %state):
      ...
      %output = attn.where %isLive, %next : ...
      %kept = attn.where %isLive, %next else %state : ...
      attn.yield %output, %kept : ...
    ```
  }];
  let statistics = [Statistic<"numMasked", "num-masked", "Recurrences with lengths">];
}

def FuseAttention : Attn_FunctionPass<"attn-fuse-attention"> {
  let summary = "Rewrites matmul, scale, mask, softmax, matmul into `attn.fused`";
  let description = [{
    Needs: the unfused chain. Leaves: no softmax alone whose scores come from a product and have no other reader. Where its
    weights have several readers, heads are wider than 1,024 or of a width that is a size, or keys lie as width x key, the region ends with the softmax. What
    selects the keys and values (`take`, `lookup`) is inside.

    Before:
    ```mlir
    %s = attn.matmul %q, %k transposed : ...
    %t = attn.scale %s by 0.125 : ...
    %w = attn.softmax %t : ...
    %c = attn.matmul %w, %v : ...
    ```
    After:
    ```mlir
    %c = attn.fused(%q, %k, %v) : ... {
    ^bb0(...):
      (the same four operations)
      attn.yield %3 : ...
    }
    ```
  }];
  let statistics = [Statistic<"numFused", "num-fused", "Chains fused">];
}

def FuseVocabulary : Attn_FunctionPass<"attn-fuse-vocabulary"> {
  let summary = "Keeps logits out of memory: projection, log-softmax and the choice of tokens are one kernel";
  let description = [{
    Needs: log_softmax or log_sum_exp of a linear's output. Leaves: linear, log_softmax and a `top_k` or `pick` after it
    in one region, if the logits have no other reader; linear and log_sum_exp in one that yields the logits too.

    Before:
    ```mlir
    %logits = attn.linear %x, %w : ...
    %p = attn.log_softmax %logits : ...
    %values, %ids = attn.top_k %p : ...
    ```
    After:
    ```mlir
    %values, %ids = attn.fused(%x, %w) : ... { (the same three operations) }
    ```
  }];
  let statistics = [Statistic<"numFused", "num-fused", "Vocabulary projections fused">];
}

def FuseEmbedding : Attn_FunctionPass<"attn-fuse-embedding"> {
  let summary = "Fuses an embedding with its scale, positions and norm";
  let description = [{
    Needs: nothing. Leaves: each embedding in a region with the scale, add_positions and norm that follow it.

    Before:
    ```mlir
    %e = attn.embed %ids, %table : ...
    %s = attn.scale %e by 22.6 : ...
    %x = attn.add_positions %s, %positions : ...
    ```
    After:
    ```mlir
    %x = attn.fused(%ids, %table, %positions) : ... { (the same three operations) }
    ```
  }];
  let statistics = [Statistic<"numFused", "num-fused", "Embeddings fused">];
}

def FuseCells : Attn_FunctionPass<"attn-fuse-cells"> {
  let summary = "Makes one region of a recurrent cell: its matmuls and its gates";
  let description = [{
    Needs: gates as slices of linears, and a state among what they are brought together with. Leaves: each cell,
    wherever a recurrence's body stands (in a loop, or once in a step), in one region. What a linear inside of it reads (the reset state of a GRU that resets before its
    matmul) is yielded, so that the kernel needs no scratch for it.

    Before:
    ```mlir
    %g = attn.linear %h, %w : ...
    %a = attn.slice %g at 0 width 8 : ...
    %z = attn.activation sigmoid %a : ...
    %next = attn.mul %z, %h : ...
    ```
    After:
    ```mlir
    %next = attn.fused(%h, %w) : ... { (the same four operations) }
    ```
  }];
  let statistics = [
    Statistic<"numCells", "num-cells", "Cells fused">,
    Statistic<"numFused", "num-fused", "Operations fused into cells">,
  ];
}

def FuseLinear : Attn_FunctionPass<"attn-fuse-linear"> {
  let summary = "Gives each matmul its epilogue: activation, residual, norm";
  let description = [{
    Needs: vocabulary projections are fused already. Leaves: each linear in a region with the pointwise operations
    after it and at most one norm at the end. Values that others read are yielded too; the norm's input always is, so
    that the kernel needs no scratch for it. A linear of the same input that gates the first, or is gated by it, is in
    its region too, and then there is no norm.

    Before:
    ```mlir
    %0 = attn.linear %x, %w bias %b : ...
    %1 = attn.add %0, %residual : ...
    %2 = attn.layer_norm %1, %g bias %c epsilon 1.0e-5 : ...
    ```
    After:
    ```mlir
    %1, %2 = attn.fused(%x, %w, %b, %residual, %g, %c) : ... { (the same three operations) }
    ```
  }];
  let statistics = [Statistic<"numFused", "num-fused", "Operations fused into a matmul's epilogue">];
}

def FuseRemaining : Attn_FunctionPass<"attn-fuse-remaining"> {
  let summary = "Puts what is left into regions: chains of pointwise operations, products with what acts on scores, others alone";
  let description = [{
    Needs: the other fusions have run. Leaves: nothing but regions, views, weights, states and the return. A remark
    says why an operation that a kernel might go on with is not in the region that computes its operand.

    Before:
    ```mlir
    %0 = attn.activation relu %x : ...
    %1 = attn.scale %0 by 2.0 : ...
    ```
    After:
    ```mlir
    %1 = attn.fused(%x) : ... { (the same two operations) }
    ```
  }];
  let statistics = [Statistic<"numRegions", "num-regions", "Regions made">];
}

def InsertCopies : Attn_FunctionPass<"attn-insert-copies"> {
  let summary = "Copies values that cannot be where they must be";
  let description = [{
    Needs: all work is in regions. Leaves: what is returned or written to a state is the result of a region, or the
    merged heads of one, and of no two of them the same; what is merged is the result of a region.

    Before:
    ```mlir
    return %argument : ...
    ```
    After:
    ```mlir
    %0 = attn.fused(%argument) : ... {
    ^bb0(%1):
      attn.yield %1 : ...
    }
    return %0 : ...
    ```
  }];
  let statistics = [Statistic<"numCopies", "num-copies", "Copies inserted">];
}

//===----------------------------------------------------------------------===//
// quantised
//===----------------------------------------------------------------------===//

def RoundAttention : Attn_ModulePass<"attn-round-attention"> {
  let summary = "Holds as bf16 what attention reads as such";
  let description = [{
    Needs: only regions, views, weights and states in functions. Leaves: no `attn.rounds_caches`. Where the module has
    that, states that only products of attention read, on their right side, are of bf16: what is written to them is
    rounded, and the products widen what they read. A state that something else makes or reads stays f32; a remark says
    what. Queries, keys and values are of bf16 in any module where nothing reads them but `rounded` products of
    attention with more than one query, and the region that computes them can round them.

    Before:
    ```mlir
    module attributes {attn.rounds_caches} {
    attn.state @keys : tensor<?x?x2x4xf32, ...>
    %after = attn.fused(%fresh, %before, %positions) {
      %0 = attn.append %in, %cache at %at : ...
    ```
    After:
    ```mlir
    attn.state @keys : tensor<?x?x2x4xbf16, ...>
    %after = attn.fused(%fresh, %before, %positions) {
      %0 = attn.round %in : ...
      %1 = attn.append %0, %cache at %at : ...
    ```
  }];
  let statistics = [
    Statistic<"numRounded", "num-rounded", "States of bf16">,
    Statistic<"numComputed", "num-computed", "Other values of bf16">,
  ];
}

def Quantise : Attn_ModulePass<"attn-quantise"> {
  let summary = "Gives weights the type that a spec asks for: bf16 or int8";
  let description = [{
    Needs: only regions, views, weights and states in functions. Leaves: no `attn.weight` with `as`. Matrices that
    had it are of bf16 or i8, in panels with groups of inputs. One of i8 has a companion, `scales`; rows that meet
    it are quantised by an `attn.fused` of their own, once for all linears that read them. So are rows that
    meet bf16 rounded, if their width is a multiple of 32; where nothing else reads them, by what computes them.
    A matrix that something else than linears and embeddings of a function's regions reads stays f32; a remark
    says why.

    Before:
    ```mlir
    attn.weight @w from ["w"] as int8 : tensor<16x8xf32>
    %y = attn.fused(%x, %w) {
      %product = attn.linear %in, %weight : ...
    ```
    After:
    ```mlir
    attn.weight @w from ["w"] : tensor<16x8xi8, #attn.panels<32, 4>>
    attn.weight @w_scales from ["w"] rows [16] scales 8 : tensor<2x32xf32>
    %bytes, %scales = attn.fused(%x) {
      %bytes, %scales = attn.quantise %in : ...
    %y = attn.fused(%w, %w_scales, %bytes, %scales) {
      %product = attn.linear %bytes scaled %scales, %weight scaled %weight_scales : ...
    ```
  }];
  let statistics = [
    Statistic<"numStored", "num-stored", "Weights of another type">,
    Statistic<"numRounded", "num-rounded", "Linears of rounded rows">,
    Statistic<"numLinears", "num-linears", "Linears of integers">,
    Statistic<"numQuantised", "num-quantised", "Values quantised">,
  ];
}

//===----------------------------------------------------------------------===//
// outlined
//===----------------------------------------------------------------------===//

def PackMatrices : Attn_ModulePass<"attn-pack-matrices"> {
  let summary = "Gives matrices that a linear reads their packed layout";
  let description = [{
    Needs: nothing. Leaves: `#attn.panels<32>` in the type of each matrix that some linear reads, wherever it is read; an
    embedding of a tied table then reads panels too.

    Before:
    ```mlir
    %w = attn.get_weight @w : tensor<8x4xf32>
    ```
    After:
    ```mlir
    %w = attn.get_weight @w : tensor<8x4xf32, #attn.panels<32>>
    ```
  }];
  let statistics = [Statistic<"numPacked", "num-packed", "Matrices packed">];
}

def OutlineKernels : Attn_ModulePass<"attn-outline-kernels"> {
  let summary = "Makes kernels of fused regions; equal ones are one kernel";
  let description = [{
    Needs: only regions, views, weights and states in functions. Leaves: only calls and views; work that is done row
    by row sees collapsed rows; axes of kernels have names of their own (`row`, or `batch, head, query, key, width`);
    unused weights are gone.

    Before:
    ```mlir
    %1 = attn.fused(%x, %w) : (tensor<?x?x4xf32, #attn.axes<batch, source, width>>, tensor<8x4xf32>) -> ... {...}
    ```
    After:
    ```mlir
    %0 = attn.collapse %x : ...
    %1 = attn.call @linear_4x8(%0, %w) : ...
    %2 = attn.expand %1 : ...
    ```
  }];
  let statistics = [
    Statistic<"numKernels", "num-kernels", "Kernels">,
    Statistic<"numCalls", "num-calls", "Calls of kernels">,
  ];
}

//===----------------------------------------------------------------------===//
// planned
//===----------------------------------------------------------------------===//

def EncodeByParts : Attn_ModulePass<"attn-encode-by-parts"> {
  let summary = "Lets `encode` and `prefill` work on some sentences of a request at a time";
  let description = [{
    Needs: only calls and views in functions. Where `encode` writes states, one sentence after the other, its axes
    `batch` become `part`, and what it writes goes to the states of the sentences from number `first` on: what few
    sentences need stays in the caches. Their axes `source` become `length`, for sentences of a part need not be as
    long as the longest of the request: states keep room for that one, and the part's lie apart accordingly. Recurrent encoders stay as they are: their matrices meet one position of
    all sentences at a time. `prefill` fills the slots from number `first` on.

    Before:
    ```mlir
    func.func @encode(%ids: tensor<?x?xi32, #attn.axes<batch, source>>) {
      attn.write_state %k, @keys : tensor<?x?x8xf32, #attn.axes<batch, source, width>>
    ```
    After:
    ```mlir
    func.func @encode(%ids: tensor<?x?xi32, #attn.axes<part, length>>) {
      attn.write_state %k, @keys : tensor<?x?x8xf32, #attn.axes<part, length, width>>
    ```
  }];
}

def PlanMemory : Attn_ModulePass<"attn-plan-memory"> {
  let summary = "Gives each value, state and weight a place";
  let description = [{
    Needs: only calls and views in functions, copies inserted, all dynamic axes named. Leaves: `places` on each call,
    offsets on states and weights, `attn.arena` on each function, and `attn.sizes`, `attn.state_bytes` and
    `attn.weight_bytes` on the module. Values whose lives do not overlap share memory if their sizes are multiples of
    the same product; a sum that only its norm reads lies where the norm does. Rows of 4 KiB and more that are
    multiples of 1 KiB lie 64 bytes further apart (`rows` of their place).

    Before:
    ```mlir
    %1 = attn.call @k(%0) : ...
    ```
    After:
    ```mlir
    %1 = attn.call @k(%0) places [#attn.place<arena, #attn.size<2048 * row>>] : ...
    ```
  }];
  let statistics = [Statistic<"numPlaced", "num-placed", "Values placed in the arena">];
}

#endif // ATTN_PASSES
