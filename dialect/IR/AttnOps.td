//===- AttnOps.td - operations of the attn dialect ---------------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The unfused operations that a spec is imported to, and the forms the passes leave: fused, kernel, call.

#ifndef ATTN_OPS
#define ATTN_OPS

include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialect/IR/AttnAttributes.td"
include "dialect/IR/AttnInterfaces.td"

class Attn_Op<string mnemonic, list<Trait> traits = []> : Op<Attn_Dialect, mnemonic, traits>;
class Attn_PureOp<string mnemonic, list<Trait> traits = []> : Attn_Op<mnemonic, !listconcat([Pure], traits)>;

//===----------------------------------------------------------------------===//
// Symbols: weights and states
//===----------------------------------------------------------------------===//

def Attn_WeightOp : Attn_Op<"weight", [Symbol]> {
  let summary = "Declares a weight and where its values come from";
  let description = [{
    Exactly one of: `tensors`, names in the weight file, joined along the out axis in order (`transposed`: the
    file holds them in x out); `sinusoid`, a computed position table; `value`, literal numbers. A missing bias
    among joined ones is the empty name and stands for zeros (`rows` gives each part's extent). A matrix that a
    `linear` reads carries `#attn.panels` in its type once outlined; `offset` (bytes in the weight file) is set
    when planned.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Attn_Float>:$type, OptionalAttr<StrArrayAttr>:$tensors,
      OptionalAttr<DenseI64ArrayAttr>:$rows, UnitAttr:$transposed, OptionalAttr<Attn_SinusoidAttr>:$sinusoid,
      OptionalAttr<ElementsAttr>:$value, OptionalAttr<I64Attr>:$offset);
  let assemblyFormat = [{
    $sym_name (`from` $tensors^)? (`rows` $rows^)? (`transposed` $transposed^)? (`sinusoid` $sinusoid^)?
    (`value` $value^)? (`at` $offset^)? attr-dict `:` $type
  }];
  let hasVerifier = 1;
}

def Attn_GetWeightOp : Attn_PureOp<"get_weight", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Gives a weight as a value";
  let arguments = (ins FlatSymbolRefAttr:$weight);
  let results = (outs Attn_Float:$result);
  let assemblyFormat = "$weight attr-dict `:` type($result)";
}

def Attn_StateOp : Attn_Op<"state", [Symbol]> {
  let summary = "Declares memory that lives from one entry's call to the next";
  let description = [{
    Cross-attention keys and values of a source (`batch, source, width`) and self-attention caches
    (`slot, head, capacity, width`). Dynamic axes have the capacity the session was given; `offset` is set when
    planned.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Attn_Value>:$type, OptionalAttr<Attn_SizeAttr>:$offset);
  let assemblyFormat = "$sym_name (`at` $offset^)? attr-dict `:` $type";
}

def Attn_ReadStateOp : Attn_Op<"read_state", [DeclareOpInterfaceMethods<SymbolUserOpInterface>, MemoryEffects<[MemRead]>]> {
  let summary = "Gives the present content of a state as a value";
  let arguments = (ins FlatSymbolRefAttr:$state);
  let results = (outs Attn_Value:$result);
  let assemblyFormat = "$state attr-dict `:` type($result)";
}

def Attn_WriteStateOp : Attn_Op<"write_state", [DeclareOpInterfaceMethods<SymbolUserOpInterface>, MemoryEffects<[MemWrite]>]> {
  let summary = "Makes a value the content of a state";
  let arguments = (ins Attn_Value:$value, FlatSymbolRefAttr:$state);
  let assemblyFormat = "$value `,` $state attr-dict `:` type($value)";
}

//===----------------------------------------------------------------------===//
// Rows: work on the width axis
//===----------------------------------------------------------------------===//

def Attn_EmbedOp : Attn_PureOp<"embed", [InferTypeOpAdaptor]> {
  let summary = "Looks up the row of each id: `result[..., w] = table[ids[...], w]`";
  let arguments = (ins Attn_Ids:$ids, Attn_Matrix:$table);
  let results = (outs Attn_Rows:$result);
  let assemblyFormat = "$ids `,` $table attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_AddPositionsOp : Attn_PureOp<"add_positions", [InferTypeOpAdaptor, DeclareOpInterfaceMethods<Attn_QueryAxisInterface>]> {
  let summary = "Adds the position's row: `x[b, q, w] + table[starts[b] + q + offset, w]`";
  let arguments = (ins Attn_Rows:$input, Attn_Matrix:$table, Optional<Attn_RowIds>:$starts,
      DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs Attn_Rows:$result);
  let assemblyFormat = "$input `,` $table (`from` $starts^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_ScaleOp : Attn_PureOp<"scale", [SameOperandsAndResultType]> {
  let summary = "Multiplies each element by a constant";
  let arguments = (ins Attn_Float:$input, F32Attr:$factor);
  let results = (outs Attn_Float:$result);
  let assemblyFormat = "$input `by` $factor attr-dict `:` type($input)";
  let hasFolder = 1;
}

def Attn_AddOp : Attn_PureOp<"add", [SameOperandsAndResultType, Commutative]> {
  let summary = "Adds two values of one shape";
  let arguments = (ins Attn_Float:$lhs, Attn_Float:$rhs);
  let results = (outs Attn_Float:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def Attn_MulOp : Attn_PureOp<"mul", [SameOperandsAndResultType, Commutative]> {
  let summary = "Multiplies two values of one shape";
  let arguments = (ins Attn_Float:$lhs, Attn_Float:$rhs);
  let results = (outs Attn_Float:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def Attn_LinearOp : Attn_PureOp<"linear", [InferTypeOpAdaptor]> {
  let summary = "`result[..., o] = sum_i input[..., i] * weight[o, i] + bias[o]`";
  let arguments = (ins Attn_Rows:$input, Attn_Matrix:$weight, Optional<Attn_Vector>:$bias);
  let results = (outs Attn_Rows:$result);
  let assemblyFormat = "$input `,` $weight (`bias` $bias^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_ActivationOp : Attn_PureOp<"activation", [SameOperandsAndResultType]> {
  let summary = "Applies a function to each element";
  let arguments = (ins Attn_Float:$input, Attn_ActivationAttr:$kind);
  let results = (outs Attn_Float:$result);
  let assemblyFormat = "$kind $input attr-dict `:` type($input)";
}

def Attn_LayerNormOp : Attn_PureOp<"layer_norm", [InferTypeOpAdaptor]> {
  let summary = "Normalises each row: `(x - mean) / sqrt(variance + epsilon) * weight + bias`";
  let arguments = (ins Attn_Rows:$input, Attn_Vector:$weight, Optional<Attn_Vector>:$bias, F32Attr:$epsilon);
  let results = (outs Attn_Rows:$result);
  let assemblyFormat = "$input `,` $weight (`bias` $bias^)? `epsilon` $epsilon attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_RmsNormOp : Attn_PureOp<"rms_norm", [InferTypeOpAdaptor]> {
  let summary = "Normalises each row by its root mean square: `x / sqrt(mean(x^2) + epsilon) * weight`";
  let arguments = (ins Attn_Rows:$input, Attn_Vector:$weight, F32Attr:$epsilon);
  let results = (outs Attn_Rows:$result);
  let assemblyFormat = "$input `,` $weight `epsilon` $epsilon attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Views: another way to look at the same memory
//===----------------------------------------------------------------------===//

def Attn_SplitHeadsOp : Attn_PureOp<"split_heads", [InferTypeOpAdaptor]> {
  let summary = "Views `(batch, query, head * width)` as `(batch, head, query, width)`";
  let arguments = (ins Attn_Rows:$input, I64Attr:$heads);
  let results = (outs Attn_Heads:$result);
  let assemblyFormat = "$input `into` $heads attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Attn_MergeHeadsOp : Attn_PureOp<"merge_heads", [InferTypeOpAdaptor]> {
  let summary = "Views `(batch, head, query, width)` as `(batch, query, head * width)`";
  let arguments = (ins Attn_Heads:$input);
  let results = (outs Attn_Rows:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Attn_SliceOp : Attn_PureOp<"slice", [InferTypeOpAdaptor]> {
  let summary = "Views `width` elements of the width axis, from `offset` on";
  let arguments = (ins Attn_Float:$input, I64Attr:$offset, I64Attr:$width);
  let results = (outs Attn_Float:$result);
  let assemblyFormat = "$input `at` $offset `width` $width attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Attn_CollapseOp : Attn_PureOp<"collapse", [InferTypeOpAdaptor]> {
  let summary = "Views `(batch, query, ...)` as rows `(row, ...)` for work that is done row by row";
  let arguments = (ins Attn_Value:$input);
  let results = (outs Attn_Value:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_ExpandOp : Attn_PureOp<"expand"> {
  let summary = "Views rows `(row, ...)` as `(batch, query, ...)`: the inverse of `collapse`";
  let arguments = (ins Attn_Value:$input);
  let results = (outs Attn_Value:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Attention, as the textbook has it
//===----------------------------------------------------------------------===//

def Attn_MatmulOp : Attn_PureOp<"matmul", [InferTypeOpAdaptor, DeclareOpInterfaceMethods<Attn_QueryAxisInterface>]> {
  let summary = "Multiplies matrices of one batch and head: `lhs x rhs`, or `lhs x rhs^T`";
  let arguments = (ins Attn_Float:$lhs, Attn_Float:$rhs, UnitAttr:$transposed);
  let results = (outs Attn_Float:$result);
  let assemblyFormat = "$lhs `,` $rhs (`transposed` $transposed^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_CausalMaskOp : Attn_PureOp<"causal_mask", [SameOperandsAndResultType, DeclareOpInterfaceMethods<Attn_QueryAxisInterface>]> {
  let summary = "Sets scores of keys after the query to minus infinity";
  let arguments = (ins Attn_Scores:$scores);
  let results = (outs Attn_Scores:$result);
  let assemblyFormat = "$scores attr-dict `:` type($scores)";
}

def Attn_PaddingMaskOp : Attn_PureOp<"padding_mask", [InferTypeOpAdaptor]> {
  let summary = "Sets scores of keys at or past `lengths[batch]` to minus infinity";
  let arguments = (ins Attn_Scores:$scores, Attn_RowIds:$lengths);
  let results = (outs Attn_Scores:$result);
  let assemblyFormat = "$scores `,` $lengths attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_SoftmaxOp : Attn_PureOp<"softmax", [SameOperandsAndResultType]> {
  let summary = "Turns each row of scores into weights that sum to one";
  let description = [{
    For every row `s` along the last (key) axis: `weights[k] = exp(s[k] - max(s)) / sum(exp(s - max(s)))`.
    A row that is masked everywhere (all `-inf`) gives zeros, never NaN.
  }];
  let arguments = (ins Attn_Scores:$scores);
  let results = (outs Attn_Scores:$weights);
  let assemblyFormat = "$scores attr-dict `:` type($scores)";
  let hasVerifier = 1;
}

def Attn_MeanHeadsOp : Attn_PureOp<"mean_heads", [InferTypeOpAdaptor]> {
  let summary = "Averages attention weights over the head axis: `(batch, query, key)`";
  let arguments = (ins Attn_Scores:$weights);
  let results = (outs Attn_Float:$result);
  let assemblyFormat = "$weights attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// The step's caches
//===----------------------------------------------------------------------===//

def Attn_AppendOp : Attn_PureOp<"append", [InferTypeOpAdaptor]> {
  let summary = "Puts one new row per slot into a cache: `cache[r, h, positions[r], w] = new[r, h, 0, w]`";
  let description = [{
    Row `r` of the step writes slot `r`. The result is the cache after writing; planned, it is the same memory.
  }];
  let arguments = (ins Attn_Heads:$fresh, Attn_Heads:$cache, Attn_RowIds:$positions);
  let results = (outs Attn_Heads:$result);
  let assemblyFormat = "$fresh `,` $cache `at` $positions attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_LookupOp : Attn_PureOp<"lookup", [InferTypeOpAdaptor]> {
  let summary = "Reads each row's own history: `result[r, h, k, w] = cache[ancestors[r, k], h, k, w]`";
  let description = [{
    `ancestors[r, k]` is the slot that held row `r`'s hypothesis at position `k`, so reordering beams copies a
    table of ids and no cache.
  }];
  let arguments = (ins Attn_Heads:$cache, TensorRankOf<[I32], [2]>:$ancestors);
  let results = (outs Attn_Heads:$result);
  let assemblyFormat = "$cache `,` $ancestors attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_TakeOp : Attn_PureOp<"take", [InferTypeOpAdaptor]> {
  let summary = "Selects along the batch axis: `result[r, ...] = input[index[r], ...]`";
  let arguments = (ins Attn_Value:$input, Attn_RowIds:$index);
  let results = (outs Attn_Value:$result);
  let assemblyFormat = "$input `,` $index attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_IncrementOp : Attn_PureOp<"increment", [SameOperandsAndResultType]> {
  let summary = "Adds one to each id: positions become lengths";
  let arguments = (ins Attn_RowIds:$input);
  let results = (outs Attn_RowIds:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

//===----------------------------------------------------------------------===//
// Vocabulary
//===----------------------------------------------------------------------===//

def Attn_LogSoftmaxOp : Attn_PureOp<"log_softmax", [SameOperandsAndResultType]> {
  let summary = "`logits - log(sum(exp(logits)))` along the width (vocabulary) axis";
  let arguments = (ins Attn_Rows:$logits);
  let results = (outs Attn_Rows:$result);
  let assemblyFormat = "$logits attr-dict `:` type($logits)";
}

def Attn_PickOp : Attn_PureOp<"pick", [InferTypeOpAdaptor]> {
  let summary = "Takes one element of each row: `result[...] = input[..., ids[...]]`";
  let arguments = (ins Attn_Rows:$input, Attn_Ids:$ids);
  let results = (outs Attn_Float:$result);
  let assemblyFormat = "$input `,` $ids attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Attn_TopKOp : Attn_PureOp<"top_k", [InferTypeOpAdaptor]> {
  let summary = "The largest elements of each row, best first; of equal ones the lower id first";
  let description = [{
    The last axis of both results is the size `candidate`, given by the caller, at most the input's width.
  }];
  let arguments = (ins Attn_Rows:$input);
  let results = (outs Attn_Rows:$values, Attn_Ids:$ids);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Recurrence
//===----------------------------------------------------------------------===//

def Attn_RecurrenceOp : Attn_PureOp<"recurrence", [IsolatedFromAbove, SingleBlock, AttrSizedOperandSegments,
    AttrSizedResultSegments, DeclareOpInterfaceMethods<Attn_QueryAxisInterface>]> {
  let summary = "Runs a cell over the query axis, carrying states from one position to the next";
  let description = [{
    The body gets one position of each sequence (`batch, width`), then the states, then the constants; it yields
    one position of each output sequence, then the next states. Results are the sequences, then the last states.
    `lengths` ends a row early: past its length its states stay and its outputs are zero. `reverse` starts at
    each row's last position.
  }];
  let arguments = (ins Variadic<Attn_Rows>:$sequences, Variadic<Attn_Rows>:$initial, Variadic<Attn_Float>:$constants,
      Optional<Attn_RowIds>:$lengths, UnitAttr:$reverse);
  let results = (outs Variadic<Attn_Rows>:$outputs, Variadic<Attn_Rows>:$last);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `over` `(` $sequences `)` `init` `(` $initial `)` (`with` `(` $constants^ `)`)? (`lengths` $lengths^)?
    (`reverse` $reverse^)? attr-dict `:` functional-type(operands, results) $body
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def Attn_YieldOp : Attn_PureOp<"yield", [Terminator, ReturnLike, ParentOneOf<["FusedOp", "KernelOp", "RecurrenceOp"]>]> {
  let summary = "Gives the results of a fused region, a kernel or a cell";
  let arguments = (ins Variadic<Attn_Value>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Attn_FusedOp : Attn_PureOp<"fused", [IsolatedFromAbove, SingleBlock]> {
  let summary = "One piece of work that becomes one kernel";
  let description = [{
    The region is made of ordinary `attn` operations and says what is computed; nothing in it reaches memory but
    the yielded values.
  }];
  let arguments = (ins Variadic<Attn_Value>:$inputs);
  let results = (outs Variadic<Attn_Value>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type($inputs, $results) $body";
  let hasVerifier = 1;
}

def Attn_KernelOp : Attn_Op<"kernel", [IsolatedFromAbove, Symbol, SingleBlock]> {
  let summary = "One kernel: compiled once per target, called many times";
  let description = [{
    Block arguments are the kernel's inputs, yielded values its results, `scratch` memory that the caller
    provides after the results. Compiled, the function takes `halide_buffer_t` pointers in this order (inputs,
    results, scratch) after a user context; axes are reversed there, fastest first. Weights carry `#attn.panels`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<TypeArrayAttr>:$scratch);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name (`scratch` $scratch^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Attn_CallOp : Attn_Op<"call", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Calls a kernel";
  let description = [{
    Planned, `places` says where each result lives, `scratch` where each scratch buffer lives.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Attn_Value>:$inputs,
      OptionalAttr<TypedArrayAttrBase<Attn_PlaceAttr, "places">>:$places,
      OptionalAttr<TypedArrayAttrBase<Attn_PlaceAttr, "places">>:$scratch);
  let results = (outs Variadic<Attn_Value>:$results);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` (`places` $places^)? (`scratch` $scratch^)? attr-dict `:` functional-type($inputs, $results)
  }];
}

#endif // ATTN_OPS
