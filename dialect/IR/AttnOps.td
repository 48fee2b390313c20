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

    `as` asks for a matrix of another type; `attn-quantise` gives it that type. `scales` makes the weight a
    companion of an i8 matrix with so many inputs, made of the same tensors: its first row holds, for each
    output, what an integer of 1 stands for; the second the sum of the output's
    integers. Both are filled up with zeros to whole panels.

    Constraints:
    * (C1) there is exactly one of `from`, `sinusoid` and `value`.
    * (C2) the shape is static.
    * (C3) of several tensors, `rows` gives each part's extent of the first axis; together they are that axis.
    * (C4) a tensor without a name, which stands for zeros, is one of several.
    * (C5) a `sinusoid` table is a matrix of even width, at least 4 if `inclusive`.
    * (C6) a literal `value` has the declared type's shape.
    * (C7) `transposed` and `#attn.panels` are for matrices.
    * (C8) `as` is for a matrix of f32 that comes from tensors; `scales` has two rows, as wide as its parts.

    Example:
    ```mlir
    attn.weight @projection from ["query", "key"] rows [8, 8] : tensor<16x8xf32>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Attn_Stored>:$type, OptionalAttr<StrArrayAttr>:$tensors,
      OptionalAttr<DenseI64ArrayAttr>:$rows, UnitAttr:$transposed, OptionalAttr<Attn_SinusoidAttr>:$sinusoid,
      OptionalAttr<ElementsAttr>:$value, OptionalAttr<I64Attr>:$offset, OptionalAttr<Attn_StorageAttr>:$storage,
      OptionalAttr<I64Attr>:$scales);
  let assemblyFormat = [{
    $sym_name (`from` $tensors^)? (`rows` $rows^)? (`transposed` $transposed^)? (`sinusoid` $sinusoid^)?
    (`value` $value^)? (`as` $storage^)? (`scales` $scales^)? (`at` $offset^)? attr-dict `:` $type
  }];
  // weight_c1, weight_c2, weight_c3, weight_c4, weight_c5, weight_c6, weight_c7, weight_c8
  let hasVerifier = 1;
}

def Attn_GetWeightOp : Attn_PureOp<"get_weight", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Gives a weight as a value";
  let description = [{
    Constraints:
    * (C1) `weight` names an `attn.weight`, and the result has its type.

    Example:
    ```mlir
    attn.weight @w from ["w"] : tensor<16x8xf32>
    %w = attn.get_weight @w : tensor<16x8xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$weight);
  let results = (outs Attn_Stored:$result);
  let assemblyFormat = "$weight attr-dict `:` type($result)";
}

def Attn_StateOp : Attn_Op<"state", [Symbol]> {
  let summary = "Declares memory that lives from one entry's call to the next";
  let description = [{
    Cross-attention keys and values of a source (`batch, source, width`) and self-attention caches
    (`slot, capacity, head, width`). Dynamic axes have the capacity the session was given; `offset` is set when
    planned.

    Constraints:
    * (C1) each dynamic axis has a name.

    Example:
    ```mlir
    attn.state @keys : tensor<?x?x2x4xf32, #attn.axes<slot, capacity, head, width>>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<Attn_Value>:$type, OptionalAttr<Attn_SizeAttr>:$offset);
  let assemblyFormat = "$sym_name (`at` $offset^)? attr-dict `:` $type";
  let extraClassDeclaration = [{
    /// Where in the memory of states a value of type `part` begins, where this has an offset: all of the state, or a
    /// part at its first sentence.
    SizeAttr beginOf(mlir::Type part);
  }];
  let hasVerifier = 1; // state_c1
}

def Attn_ReadStateOp : Attn_Op<"read_state", [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    MemoryEffects<[MemRead]>]> {
  let summary = "Gives the present content of a state as a value";
  let description = [{
    What is written to the state later in the entry may change the value: states are memory. A result whose first
    axis is `part` where the state's is `slot` is that many slots, from number `first` on.

    Constraints:
    * (C1) `state` names an `attn.state`, and the result has its type, but for such a first axis.

    Example:
    ```mlir
    attn.state @source : tensor<?x?x8xf32, #attn.axes<batch, source, width>>
    %x = attn.read_state @source : tensor<?x?x8xf32, #attn.axes<batch, source, width>>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$state);
  let results = (outs Attn_Value:$result);
  let assemblyFormat = "$state attr-dict `:` type($result)";
}

def Attn_WriteStateOp : Attn_Op<"write_state", [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    MemoryEffects<[MemWrite]>]> {
  let summary = "Makes a value the content of a state";
  let description = [{
    A value whose first axis is `part` where the state's is `batch` or `slot` becomes the content of that many sentences, from
    number `first` on. Its second axis is `length` where the state's is `source`, which may be more: then what lies
    behind a sentence's `length` is of no meaning.

    Constraints:
    * (C1) `state` names an `attn.state`, and the value has its type, but for such first axes.

    Example:
    ```mlir
    attn.state @source : tensor<?x?x8xf32, #attn.axes<batch, source, width>>
    attn.write_state %x, @source : tensor<?x?x8xf32, #attn.axes<batch, source, width>>
    ```
  }];
  let arguments = (ins Attn_Value:$value, FlatSymbolRefAttr:$state);
  let assemblyFormat = "$value `,` $state attr-dict `:` type($value)";
}

//===----------------------------------------------------------------------===//
// Rows: work on the width axis
//===----------------------------------------------------------------------===//

def Attn_EmbedOp : Attn_PureOp<"embed", [InferTypeOpAdaptor]> {
  let summary = "Looks up the row of each id: `result[..., w] = table[ids[...], w]`";
  let description = [{
    Ids outside of the table are the caller's mistake; they are checked before an entry runs. The integers of an
    i8 table are multiplied with their row's scale.

    Constraints:
    * (C1) there are `scales` where the table is of i8, and only there.
    * (C2) the table's width is known.

    Example:
    ```mlir
    %x = attn.embed %ids, %table : (tensor<?x?xi32, #attn.axes<batch, source>>, tensor<51x8xf32>) -> tensor<?x?x8xf32, #attn.axes<batch, source, width>>
    ```
  }];
  let arguments = (ins TensorRankOf<[I32], [1, 2]>:$ids, Attn_StoredMatrix:$table, Optional<Attn_Matrix>:$scales);
  let results = (outs Attn_Rows:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$ids, "::mlir::Value":$table), [{
    build($_builder, $_state, ids, table, ::mlir::Value());
  }]>];
  let assemblyFormat = "$ids `,` $table (`scaled` $scales^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // embed_c1, embed_c2
}

def Attn_AddPositionsOp : Attn_PureOp<"add_positions", [InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<Attn_QueryAxisInterface>]> {
  let summary = "Adds the position's row: `x[b, q, w] + table[starts[b] + q + offset, w]`";
  let description = [{
    Without `starts` every row begins at position 0. Positions past the table are the caller's mistake.

    Constraints:
    * (C1) the input has the axes batch, query and width.
    * (C2) the table is as wide as the input.
    * (C3) there is one start for each batch element.
    * (C4) `offset` is not negative and leaves a row of the table.

    Example:
    ```mlir
    %y = attn.add_positions %x, %table from %starts : (tensor<?x?x8xf32, #attn.axes<batch, source, width>>, tensor<128x8xf32>, tensor<?xi32, #attn.axes<batch>>) -> tensor<?x?x8xf32, #attn.axes<batch, source, width>>
    ```
  }];
  let arguments = (ins Attn_Rows:$input, Attn_Matrix:$table, Optional<Attn_RowIds>:$starts,
      DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs Attn_Rows:$result);
  let assemblyFormat = "$input `,` $table (`from` $starts^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // add_positions_c1, add_positions_c2, add_positions_c3, add_positions_c4
}

def Attn_ScaleOp : Attn_PureOp<"scale", [SameOperandsAndResultType]> {
  let summary = "Multiplies each element by a constant";
  let description = [{
    A factor of one folds away.

    Example:
    ```mlir
    %y = attn.scale %x by 0.125 : tensor<?x?x8xf32, #attn.axes<batch, source, width>>
    ```
  }];
  let arguments = (ins Attn_Float:$input, F32Attr:$factor);
  let results = (outs Attn_Float:$result);
  let assemblyFormat = "$input `by` $factor attr-dict `:` type($input)";
  let hasFolder = 1;
}

def Attn_AddOp : Attn_PureOp<"add", [SameOperandsAndResultType, Commutative]> {
  let summary = "Adds two values of one shape";
  let description = [{
    Example:
    ```mlir
    %z = attn.add %x, %y : tensor<?x?x8xf32, #attn.axes<batch, source, width>>
    ```
  }];
  let arguments = (ins Attn_Float:$lhs, Attn_Float:$rhs);
  let results = (outs Attn_Float:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def Attn_MulOp : Attn_PureOp<"mul", [SameOperandsAndResultType, Commutative]> {
  let summary = "Multiplies two values of one shape";
  let description = [{
    Example:
    ```mlir
    %z = attn.mul %x, %y : tensor<?x?x8xf32, #attn.axes<batch, source, width>>
    ```
  }];
  let arguments = (ins Attn_Float:$lhs, Attn_Float:$rhs);
  let results = (outs Attn_Float:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
}

def Attn_ConcatOp : Attn_PureOp<"concat", [InferTypeOpAdaptor]> {
  let summary = "Puts rows side by side: the first input's columns, then the second's, and so on";
  let description = [{
    Constraints:
    * (C1) there is an input, and all agree in the axes before the width.
    * (C2) the widths are known.

    Example:
    ```mlir
    %y = attn.concat %x, %x : (tensor<?x?x8xf32, #attn.axes<batch, source, width>>, tensor<?x?x8xf32, #attn.axes<batch, source, width>>) -> tensor<?x?x16xf32, #attn.axes<batch, source, width>>
    ```
  }];
  let arguments = (ins Variadic<Attn_Rows>:$inputs);
  let results = (outs Attn_Rows:$result);
  let assemblyFormat = "$inputs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // concat_c1, concat_c2
}

def Attn_QuantiseOp : Attn_PureOp<"quantise", [InferTypeOpAdaptor]> {
  let summary = "Turns each row into bytes: `bytes[..., i] = round(input[..., i] / scale + zero)`";
  let description = [{
    A row's range reaches from its smallest to its largest element, 0 included; its scale is the range divided by 255,
    and `zero` the byte that stands for 0. `scales` holds both for each row, in this order. A row of zeros has the
    scale 0. Ties go to the even byte. Rows of bytes are filled up to a multiple of 64 with bytes that mean
    nothing.

    Constraints:
    * (C1) the input's width is known.

    Example:
    ```mlir
    %bytes, %scales = attn.quantise %x : (tensor<?x?x8xf32, #attn.axes<batch, source, width>>) -> (tensor<?x?x64xui8, #attn.axes<batch, source, width>>, tensor<?x?x2xf32, #attn.axes<batch, source, width>>)
    ```
  }];
  let arguments = (ins Attn_Rows:$input);
  let results = (outs Attn_ByteRows:$bytes, Attn_Rows:$scales);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // quantise_c1
}

def Attn_RoundOp : Attn_PureOp<"round", [InferTypeOpAdaptor]> {
  let summary = "Rounds each element to the nearest bfloat16, ties to even";
  let description = [{
    A NaN stays one, and what is larger than the largest bfloat16 becomes infinite.

    Example:
    ```mlir
    %y = attn.round %x : (tensor<?x?x8xf32, #attn.axes<batch, source, width>>) -> tensor<?x?x8xbf16, #attn.axes<batch, source, width>>
    ```
  }];
  let arguments = (ins Attn_Float:$input);
  let results = (outs RankedTensorOf<[BF16]>:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def Attn_LinearOp : Attn_PureOp<"linear", [InferTypeOpAdaptor, AttrSizedOperandSegments]> {
  let summary = "`result[..., o] = sum_i input[..., i] * weight[o, i] + bias[o]`";
  let description = [{
    A weight of bf16 is widened, and so are rows of bf16. A weight of i8 multiplies quantised rows, and the result is, of whole numbers that
    are summed up without rounding, `input_scale * weight_scale[o] * sum_i (input[..., i] - zero) * weight[o, i] +
    bias[o]`.

    Constraints:
    * (C1) the weight's in axis is as wide as the input; rows of bytes may be wider by up to 63.
    * (C2) the bias has an element for each output.
    * (C3) rows of bytes, a weight of i8 and the scales of both come together.
    * (C4) the weight's extents are known.

    Example:
    ```mlir
    %y = attn.linear %x, %w bias %b : (tensor<?x?x8xf32, #attn.axes<batch, source, width>>, tensor<16x8xf32>, tensor<16xf32>) -> tensor<?x?x16xf32, #attn.axes<batch, source, width>>
    ```
  }];
  let arguments = (ins AnyTypeOf<[Attn_RowsHeld, Attn_ByteRows]>:$input, Optional<Attn_Rows>:$inputScales,
      Attn_StoredMatrix:$weight, Optional<Attn_Matrix>:$weightScales, Optional<Attn_Vector>:$bias);
  let results = (outs Attn_Rows:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$weight, "::mlir::Value":$bias), [{
    build($_builder, $_state, input, ::mlir::Value(), weight, ::mlir::Value(), bias);
  }]>];
  let assemblyFormat = [{
    $input (`scaled` $inputScales^)? `,` $weight (`scaled` $weightScales^)? (`bias` $bias^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1; // linear_c1, linear_c2, linear_c3, linear_c4
}

def Attn_ActivationOp : Attn_PureOp<"activation", [SameOperandsAndResultType]> {
  let summary = "Applies a function to each element";
  let description = [{
    `relu` is max(x, 0); `gelu` is x * (1 + erf(x / sqrt(2))) / 2; `gelu_tanh` its approximation by tanh; `silu` is
    x * sigmoid(x).

    Example:
    ```mlir
    %y = attn.activation gelu %x : tensor<?x?x8xf32, #attn.axes<batch, source, width>>
    ```
  }];
  let arguments = (ins Attn_Float:$input, Attn_ActivationAttr:$kind);
  let results = (outs Attn_Float:$result);
  let assemblyFormat = "`` $kind $input attr-dict `:` type($input)";
}

def Attn_LayerNormOp : Attn_PureOp<"layer_norm", [InferTypeOpAdaptor]> {
  let summary = "Normalises each row: `(x - mean) / sqrt(variance + epsilon) * weight + bias`";
  let description = [{
    The variance is the mean of squared differences (divided by the width, not by one less).

    Constraints:
    * (C1) weight and bias are as wide as the input.
    * (C2) `epsilon` is not negative.
    * (C3) the width is known.

    Example:
    ```mlir
    %y = attn.layer_norm %x, %g bias %b epsilon 1.0e-5 : (tensor<?x?x8xf32, #attn.axes<batch, source, width>>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32, #attn.axes<batch, source, width>>
    ```
  }];
  let arguments = (ins Attn_Rows:$input, Attn_Vector:$weight, Optional<Attn_Vector>:$bias, F32Attr:$epsilon);
  let results = (outs Attn_Rows:$result);
  let assemblyFormat = [{
    $input `,` $weight (`bias` $bias^)? `epsilon` $epsilon attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1; // layer_norm_c1, layer_norm_c2, layer_norm_c3
}

def Attn_RmsNormOp : Attn_PureOp<"rms_norm", [InferTypeOpAdaptor]> {
  let summary = "Normalises each row by its root mean square: `x / sqrt(mean(x^2) + epsilon) * weight`";
  let description = [{
    Constraints:
    * (C1) the weight is as wide as the input.
    * (C2) `epsilon` is not negative.
    * (C3) the width is known.

    Example:
    ```mlir
    %y = attn.rms_norm %x, %g epsilon 1.0e-6 : (tensor<?x?x8xf32, #attn.axes<batch, source, width>>, tensor<8xf32>) -> tensor<?x?x8xf32, #attn.axes<batch, source, width>>
    ```
  }];
  let arguments = (ins Attn_Rows:$input, Attn_Vector:$weight, F32Attr:$epsilon);
  let results = (outs Attn_Rows:$result);
  let assemblyFormat = "$input `,` $weight `epsilon` $epsilon attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // rms_norm_c1, rms_norm_c2, rms_norm_c3
}

def Attn_L2NormOp : Attn_PureOp<"l2_norm", [SameOperandsAndResultType]> {
  let summary = "Scales each row to length one: `x / max(sqrt(sum(x^2)), epsilon)`";
  let description = [{
    Rows lie along the last axis. The product of two such rows is the cosine of their angle.

    Constraints:
    * (C1) `epsilon` is positive, so that a row of zeros stays one.

    Example:
    ```mlir
    %y = attn.l2_norm %x epsilon 1.0e-12 : tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$input, F32Attr:$epsilon);
  let results = (outs RankedTensorOf<[F32]>:$result);
  let assemblyFormat = "$input `epsilon` $epsilon attr-dict `:` type($input)";
  let hasVerifier = 1; // l2_norm_c1
}

def Attn_RotaryOp : Attn_PureOp<"rotary", [InferTypeOpAdaptor, DeclareOpInterfaceMethods<Attn_QueryAxisInterface>]> {
  let summary = "Turns pairs of columns by an angle that grows with the position (Su et al. 2021)";
  let description = [{
    Position `p = starts[b] + q` (without `starts`, `q`) has the row `sin, ..., sin, cos, ..., cos` of the table,
    one angle for each pair; a `sinusoid` that is not interleaved is such a table. A pair `(x, y)` becomes
    `(x cos - y sin, y cos + x sin)`. The pairs of the first `r` columns, where `r` is the table's width, are
    neighbours if `interleaved`, otherwise columns `j` and `j + r / 2`; columns past them stay. Positions past
    the table are the caller's mistake.

    Constraints:
    * (C1) the table's width is even and at most the input's.
    * (C2) there is one start for each batch element.

    Example:
    ```mlir
    %y = attn.rotary %x, %table from %starts interleaved : (tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>, tensor<128x4xf32>, tensor<?xi32, #attn.axes<batch>>) -> tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>
    ```
  }];
  let arguments = (ins Attn_Heads:$input, Attn_Matrix:$table, Optional<Attn_RowIds>:$starts, UnitAttr:$interleaved);
  let results = (outs Attn_Heads:$result);
  let assemblyFormat = [{
    $input `,` $table (`from` $starts^)? (`interleaved` $interleaved^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1; // rotary_c1, rotary_c2
}

//===----------------------------------------------------------------------===//
// Views: another way to look at the same memory
//===----------------------------------------------------------------------===//

def Attn_SplitHeadsOp : Attn_PureOp<"split_heads", [InferTypeOpAdaptor]> {
  let summary = "Views `(batch, query, head * width)` as `(batch, head, query, width)`";
  let description = [{
    Splitting what was just merged folds away.

    Constraints:
    * (C1) the input has the axes batch, query and width.
    * (C2) `heads` divides the width.

    Example:
    ```mlir
    %h = attn.split_heads %x into 2 : (tensor<?x?x8xf32, #attn.axes<batch, source, width>>) -> tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>
    ```
  }];
  let arguments = (ins Attn_RowsHeld:$input, I64Attr:$heads);
  let results = (outs Attn_HeadsHeld:$result);
  let assemblyFormat = "$input `into` $heads attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // split_heads_c1, split_heads_c2
  let hasFolder = 1;
}

def Attn_MergeHeadsOp : Attn_PureOp<"merge_heads", [InferTypeOpAdaptor]> {
  let summary = "Views `(batch, head, query, width)` as `(batch, query, head * width)`";
  let description = [{
    Merging what was just split folds away.

    Constraints:
    * (C1) heads and width are known.

    Example:
    ```mlir
    %x = attn.merge_heads %h : (tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>) -> tensor<?x?x8xf32, #attn.axes<batch, source, width>>
    ```
  }];
  let arguments = (ins Attn_HeadsHeld:$input);
  let results = (outs Attn_RowsHeld:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // merge_heads_c1
  let hasFolder = 1;
}

def Attn_SliceOp : Attn_PureOp<"slice", [InferTypeOpAdaptor]> {
  let summary = "Views `width` elements of the width axis, from `offset` on";
  let description = [{
    A slice of everything folds away.

    Constraints:
    * (C1) the range lies within a known width and is not empty.

    Example:
    ```mlir
    %y = attn.slice %x at 4 width 4 : (tensor<?x?x8xf32, #attn.axes<batch, source, width>>) -> tensor<?x?x4xf32, #attn.axes<batch, source, width>>
    ```
  }];
  let arguments = (ins Attn_Held:$input, I64Attr:$offset, I64Attr:$width);
  let results = (outs Attn_Held:$result);
  let assemblyFormat = "$input `at` $offset `width` $width attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // slice_c1
  let hasFolder = 1;
}

def Attn_SelectOp : Attn_PureOp<"select", [InferTypeOpAdaptor]> {
  let summary = "Views one position of the query axis: `result[b, w] = input[b, position, w]`";
  let description = [{
    A position past the rows is the caller's mistake where their number is not known; position 0 is always there.

    Constraints:
    * (C1) the input has the axes batch, query and width.
    * (C2) the position is one of the query axis.

    Example:
    ```mlir
    %y = attn.select %x at 0 : (tensor<?x?x8xf32, #attn.axes<batch, source, width>>) -> tensor<?x8xf32, #attn.axes<batch, width>>
    ```
  }];
  let arguments = (ins Attn_RowsHeld:$input, I64Attr:$position);
  let results = (outs Attn_RowsHeld:$result);
  let assemblyFormat = "$input `at` $position attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // select_c1, select_c2
}

def Attn_CollapseOp : Attn_PureOp<"collapse", [InferTypeOpAdaptor]> {
  let summary = "Views `(batch, query, ...)` as rows `(row, ...)` for work that is done row by row";
  let description = [{
    The collapsed axis is named by its extent, a product of sizes.

    Constraints:
    * (C1) the input has at least two axes.

    Example:
    ```mlir
    %rows = attn.collapse %x : (tensor<?x?x8xf32, #attn.axes<batch, source, width>>) -> tensor<?x8xf32, #attn.axes<batch * source, width>>
    ```
  }];
  let arguments = (ins Attn_Value:$input);
  let results = (outs Attn_Value:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // collapse_c1
}

def Attn_ExpandOp : Attn_PureOp<"expand"> {
  let summary = "Views rows `(row, ...)` as `(batch, query, ...)`: the inverse of `collapse`";
  let description = [{
    Expanding what was just collapsed folds away.

    Constraints:
    * (C1) collapsing the result gives the input's type.

    Example:
    ```mlir
    %x = attn.expand %rows : (tensor<?x8xf32, #attn.axes<batch * source, width>>) -> tensor<?x?x8xf32, #attn.axes<batch, source, width>>
    ```
  }];
  let arguments = (ins Attn_Value:$input);
  let results = (outs Attn_Value:$result);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // expand_c1
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Attention, as the textbook has it
//===----------------------------------------------------------------------===//

def Attn_MatmulOp : Attn_PureOp<"matmul", [InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<Attn_QueryAxisInterface>]> {
  let summary = "Multiplies matrices of one batch and head: `lhs x rhs`, or `lhs x rhs^T`";
  let description = [{
    A side of bf16 is widened. `rounded`: a kernel of many queries may round both sides to bfloat16, or find them rounded; sums are of
    float32. A step's products, and those of the pass over a prompt, take their left side as it is.

    Constraints:
    * (C1) both sides have the same rank, at least two.
    * (C2) the axes before the last two agree, but for the heads of values with four axes: those of the right
      side divide those of the left, and head `h` reads head `h / (left / right)` (grouped and multi-query
      attention).
    * (C3) the axis that is summed over agrees.
    * (C4) where the left side is of bf16, the product is `rounded`.

    Example:
    ```mlir
    %s = attn.matmul %q, %k transposed : (tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>, tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>) -> tensor<?x2x?x?xf32, #attn.axes<batch, head, source, source>>
    %r = attn.matmul %q, %k transposed rounded : (tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>, tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>) -> tensor<?x2x?x?xf32, #attn.axes<batch, head, source, source>>
    ```
  }];
  let arguments = (ins Attn_Held:$lhs, Attn_Held:$rhs, UnitAttr:$transposed, UnitAttr:$rounded);
  let results = (outs Attn_Float:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`transposed` $transposed^)? (`rounded` $rounded^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1; // matmul_c1 to matmul_c4
}

def Attn_AdditiveScoresOp : Attn_PureOp<"additive_scores", [InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<Attn_QueryAxisInterface>]> {
  let summary = "Additive scores (Bahdanau et al. 2015): `sum_w weight[w] * tanh(query[q, w] + key[k, w])`";
  let description = [{
    Takes the place of the product of queries and keys. The weight is one vector for all heads, or has a row for
    each.

    Constraints:
    * (C1) the batch axes agree, and the keys' heads divide the queries' as in `matmul`.
    * (C2) queries, keys and weight have one width.
    * (C3) a weight of two axes has a row for each head of the queries.

    Example:
    ```mlir
    %s = attn.additive_scores %q, %k by %w : (tensor<?x1x?x4xf32, #attn.axes<batch, head, target, width>>, tensor<?x1x?x4xf32, #attn.axes<batch, head, source, width>>, tensor<4xf32>) -> tensor<?x1x?x?xf32, #attn.axes<batch, head, target, source>>
    ```
  }];
  let arguments = (ins Attn_Heads:$query, Attn_Heads:$key, TensorRankOf<[F32], [1, 2]>:$weight);
  let results = (outs Attn_Scores:$result);
  let assemblyFormat = "$query `,` $key `by` $weight attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // additive_scores_c1, additive_scores_c2, additive_scores_c3
}

def Attn_ScoreMapOp : Attn_PureOp<"score_map", [IsolatedFromAbove, SingleBlock, AttrSizedOperandSegments,
    InferTypeOpAdaptor, DeclareOpInterfaceMethods<Attn_QueryAxisInterface>]> {
  let summary = "Computes each score from itself, its place and elements of tables";
  let description = [{
    The body is one function of scalars, made of `arith` and `math` operations and `attn.element`. Its arguments
    are the score, its batch, head, query and key (`i32`; the query is `starts[b] + q`), then the tables. It
    yields the new score; minus infinity masks it. Scores that are masked already stay masked.

    Constraints:
    * (C1) there is one start for each batch element.
    * (C2) the body's arguments are a score, four indices and the tables; it yields a score.
    * (C3) the body has operations on `f32`, `i32` and `i1` of `arith` and `math`, and `attn.element`.
    * (C4) a table's axis that is indexed by the score's own index has the extent of the scores' axis.

    Example:
    ```mlir
    %m = attn.score_map %s with (%slopes) : (tensor<?x2x?x?xf32, #attn.axes<batch, head, target, source>>, tensor<2xf32>) -> tensor<?x2x?x?xf32, #attn.axes<batch, head, target, source>> {
    ^bb0(%score: f32, %b: i32, %h: i32, %q: i32, %k: i32, %table: tensor<2xf32>):
      %slope = attn.element %table[%h] : tensor<2xf32>
      %after = arith.subi %k, %q : i32
      %distance = arith.sitofp %after : i32 to f32
      %bias = arith.mulf %slope, %distance : f32
      %sum = arith.addf %score, %bias : f32
      attn.yield %sum : f32
    }
    ```
  }];
  let arguments = (ins Attn_Scores:$scores, Optional<Attn_RowIds>:$starts, Variadic<Attn_Value>:$tables);
  let results = (outs Attn_Scores:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $scores (`from` $starts^)? (`with` `(` $tables^ `)`)? attr-dict `:` functional-type(operands, results) $body
  }];
  let extraClassDeclaration = [{
    /// The number of the body's arguments before the tables: score, batch, head, query, key.
    static constexpr unsigned indexArguments = 5;
  }];
  let hasVerifier = 1;       // score_map_c1, score_map_c2
  let hasRegionVerifier = 1; // score_map_c3, score_map_c4
}

def Attn_ElementOp : Attn_PureOp<"element", [InferTypeOpAdaptor, ParentOneOf<["ScoreMapOp"]>]> {
  let summary = "Reads one element of a table";
  let description = [{
    An index outside of the table reads the nearest element.

    Constraints:
    * (C1) there is an index for each axis.

    Example:
    ```mlir
    %m = attn.score_map %s with (%biases) : (tensor<?x2x?x?xf32, #attn.axes<batch, head, target, source>>, tensor<2xf32>) -> tensor<?x2x?x?xf32, #attn.axes<batch, head, target, source>> {
    ^bb0(%score: f32, %b: i32, %h: i32, %q: i32, %k: i32, %table: tensor<2xf32>):
      %bias = attn.element %table[%h] : tensor<2xf32>
      %sum = arith.addf %score, %bias : f32
      attn.yield %sum : f32
    }
    ```
  }];
  let arguments = (ins Attn_Value:$table, Variadic<I32>:$indices);
  let results = (outs AnyTypeOf<[F32, I32]>:$result);
  let assemblyFormat = "$table `[` $indices `]` attr-dict `:` type($table)";
  let hasVerifier = 1; // element_c1
}

def Attn_CausalMaskOp : Attn_PureOp<"causal_mask", [SameOperandsAndResultType,
    DeclareOpInterfaceMethods<Attn_QueryAxisInterface>]> {
  let summary = "Sets scores of keys after the query to minus infinity";
  let description = [{
    Query `q` sees keys `0 .. q`; a key at its own position is seen.

    Example:
    ```mlir
    %m = attn.causal_mask %s : tensor<?x2x?x?xf32, #attn.axes<batch, head, source, source>>
    ```
  }];
  let arguments = (ins Attn_Scores:$scores);
  let results = (outs Attn_Scores:$result);
  let assemblyFormat = "$scores attr-dict `:` type($scores)";
}

def Attn_PaddingMaskOp : Attn_PureOp<"padding_mask", [InferTypeOpAdaptor]> {
  let summary = "Sets scores of keys at or past `lengths[batch]` to minus infinity";
  let description = [{
    A length of zero masks a whole row; softmax then gives zeros.

    Constraints:
    * (C1) there is one length for each batch element.

    Example:
    ```mlir
    %m = attn.padding_mask %s, %lengths : (tensor<?x2x?x?xf32, #attn.axes<batch, head, source, source>>, tensor<?xi32, #attn.axes<batch>>) -> tensor<?x2x?x?xf32, #attn.axes<batch, head, source, source>>
    ```
  }];
  let arguments = (ins Attn_Scores:$scores, Attn_RowIds:$lengths);
  let results = (outs Attn_Scores:$result);
  let assemblyFormat = "$scores `,` $lengths attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // padding_mask_c1
}

def Attn_WindowMaskOp : Attn_PureOp<"window_mask", [InferTypeOpAdaptor,
    DeclareOpInterfaceMethods<Attn_QueryAxisInterface>]> {
  let summary = "Sets scores of keys that are far from the query to minus infinity";
  let description = [{
    The query at position `p = starts[b] + q` (without `starts`, `q`) sees keys `p - before .. p + after`; a side
    without a number is not limited.

    Constraints:
    * (C1) `before` or `after` is given; both are in 0 to 2^30.
    * (C2) there is one start for each batch element.

    Example:
    ```mlir
    %m = attn.window_mask %s before 127 after 0 : (tensor<?x2x?x?xf32, #attn.axes<batch, head, source, source>>) -> tensor<?x2x?x?xf32, #attn.axes<batch, head, source, source>>
    ```
  }];
  let arguments = (ins Attn_Scores:$scores, Optional<Attn_RowIds>:$starts, OptionalAttr<I64Attr>:$before,
      OptionalAttr<I64Attr>:$after);
  let results = (outs Attn_Scores:$result);
  let assemblyFormat = [{
    $scores (`from` $starts^)? (`before` $before^)? (`after` $after^)? attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1; // window_mask_c1, window_mask_c2
}

def Attn_PrefixMaskOp : Attn_PureOp<"prefix_mask", [InferTypeOpAdaptor]> {
  let summary = "Sets scores of keys after the query to minus infinity, but for those of the prefix";
  let description = [{
    Query `q` sees keys `0 .. q` and keys before `lengths[batch]` (a prefix language model, Liu et al. 2018).

    Constraints:
    * (C1) there is one length for each batch element.

    Example:
    ```mlir
    %m = attn.prefix_mask %s, %lengths : (tensor<?x2x?x?xf32, #attn.axes<batch, head, source, source>>, tensor<?xi32, #attn.axes<batch>>) -> tensor<?x2x?x?xf32, #attn.axes<batch, head, source, source>>
    ```
  }];
  let arguments = (ins Attn_Scores:$scores, Attn_RowIds:$lengths);
  let results = (outs Attn_Scores:$result);
  let assemblyFormat = "$scores `,` $lengths attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // prefix_mask_c1
}

def Attn_SoftmaxOp : Attn_PureOp<"softmax", [SameOperandsAndResultType]> {
  let summary = "Turns each row of scores into weights that sum to one";
  let description = [{
    For every row `s` along the last (key) axis: `weights[k] = exp(s[k] - max(s)) / sum(exp(s - max(s)))`.
    A row that is masked everywhere (all `-inf`) gives zeros, never NaN.

    Constraints:
    * (C1) the key axis is not empty where its length is known.

    Example:
    ```mlir
    %w = attn.softmax %s : tensor<?x2x?x?xf32, #attn.axes<batch, head, source, source>>
    ```
  }];
  let arguments = (ins Attn_Scores:$scores);
  let results = (outs Attn_Scores:$weights);
  let assemblyFormat = "$scores attr-dict `:` type($scores)";
  let hasVerifier = 1; // softmax_c1
}

def Attn_MeanHeadsOp : Attn_PureOp<"mean_heads", [InferTypeOpAdaptor]> {
  let summary = "Averages attention weights over the head axis: `(batch, query, key)`";
  let description = [{
    Constraints:
    * (C1) there is at least one head, and their number is known.

    Example:
    ```mlir
    %m = attn.mean_heads %w : (tensor<?x2x?x?xf32, #attn.axes<batch, head, source, source>>) -> tensor<?x?x?xf32, #attn.axes<batch, source, source>>
    ```
  }];
  let arguments = (ins Attn_Scores:$weights);
  let results = (outs Attn_Float:$result);
  let assemblyFormat = "$weights attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // mean_heads_c1
}

//===----------------------------------------------------------------------===//
// The step's caches
//===----------------------------------------------------------------------===//

def Attn_AppendOp : Attn_PureOp<"append", [InferTypeOpAdaptor]> {
  let summary = "Puts new positions of each row into a cache: `cache[r, positions[r] + q, h, w] = fresh[r, h, q, w]`";
  let description = [{
    Row `r` writes slot `r`. The result is the cache after writing; planned, it is the same memory. A cache that is
    shorter than the positions is a ring: position `p` is at `p` modulo its extent. All heads of a position lie side
    by side, so that a step reads a row's history from end to end.

    Constraints:
    * (C1) `fresh` has no more query positions than the cache, where both are known.
    * (C2) heads and widths of `fresh` and the cache agree.
    * (C3) there is one position for each row.
    * (C4) elements of `fresh` and the cache have one type.

    Example:
    ```mlir
    %after = attn.append %fresh, %cache at %positions : (tensor<?x2x1x4xf32, #attn.axes<row, head, query, width>>, tensor<?x?x2x4xf32, #attn.axes<slot, capacity, head, width>>, tensor<?xi32, #attn.axes<row>>) -> tensor<?x?x2x4xf32, #attn.axes<slot, capacity, head, width>>
    ```
  }];
  let arguments = (ins Attn_HeadsHeld:$fresh, Attn_HeadsHeld:$cache, Attn_RowIds:$positions);
  let results = (outs Attn_HeadsHeld:$result);
  let assemblyFormat = "$fresh `,` $cache `at` $positions attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // append_c1, append_c2, append_c3, append_c4
}

def Attn_LookupOp : Attn_PureOp<"lookup", [InferTypeOpAdaptor]> {
  let summary = "Reads each row's own history: `result[r, h, k, w] = cache[ancestors[r, k], k, h, w]`";
  let description = [{
    `ancestors[r, k]` is the slot that held row `r`'s hypothesis at position `k`, so reordering beams copies a
    table of ids and no cache. The result's key axis is the size `history`.

    Constraints:
    * (C1) the ancestors' second axis is the cache's second.

    Example:
    ```mlir
    %keys = attn.lookup %cache, %ancestors : (tensor<?x?x2x4xf32, #attn.axes<slot, capacity, head, width>>, tensor<?x?xi32, #attn.axes<row, capacity>>) -> tensor<?x2x?x4xf32, #attn.axes<row, head, history, width>>
    ```
  }];
  let arguments = (ins Attn_HeadsHeld:$cache, TensorRankOf<[I32], [2]>:$ancestors);
  let results = (outs Attn_HeadsHeld:$result);
  let assemblyFormat = "$cache `,` $ancestors attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // lookup_c1
}

def Attn_RecallOp : Attn_PureOp<"recall", [InferTypeOpAdaptor]> {
  let summary = "Reads what each row's hypothesis kept at its last position, or `initial` at position 0";
  let description = [{
    `result[r, 0, w] = cache[ancestors[r, p - 1], p - 1, 0, w]` with `p = positions[r]`, positions of the cache modulo
    its extent (see `append`). Two positions suffice for a state that is only needed once: a step then reads one of
    them and writes the other, so that rows overwrite nothing that others still read, and a step may be repeated.

    Constraints:
    * (C1) the cache has one head and the width of `initial`.
    * (C2) there are one position and one initial state for each row.

    Example:
    ```mlir
    %h = attn.recall %cache, %ancestors at %positions else %initial : (tensor<?x2x1x8xf32, #attn.axes<slot, ring, head, width>>, tensor<?x?xi32, #attn.axes<row, capacity>>, tensor<?xi32, #attn.axes<row>>, tensor<?x1x8xf32, #attn.axes<row, query, width>>) -> tensor<?x1x8xf32, #attn.axes<row, query, width>>
    ```
  }];
  let arguments = (ins Attn_Heads:$cache, TensorRankOf<[I32], [2]>:$ancestors, Attn_RowIds:$positions,
      Attn_Rows:$initial);
  let results = (outs Attn_Rows:$result);
  let assemblyFormat = [{
    $cache `,` $ancestors `at` $positions `else` $initial attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1; // recall_c1, recall_c2
}

def Attn_TakeOp : Attn_PureOp<"take", [InferTypeOpAdaptor]> {
  let summary = "Selects along the batch axis: `result[r, ...] = input[index[r], ...]`";
  let description = [{
    Constraints:
    * (C1) the input has at least one axis.

    Example:
    ```mlir
    %k = attn.take %keys, %sources : (tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>, tensor<?xi32, #attn.axes<row>>) -> tensor<?x2x?x4xf32, #attn.axes<row, head, source, width>>
    ```
  }];
  let arguments = (ins Attn_Value:$input, Attn_RowIds:$index);
  let results = (outs Attn_Value:$result);
  let assemblyFormat = "$input `,` $index attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // take_c1
}

def Attn_IncrementOp : Attn_PureOp<"increment", [SameOperandsAndResultType]> {
  let summary = "Adds one to each id: positions become lengths";
  let description = [{
    Example:
    ```mlir
    %lengths = attn.increment %positions : tensor<?xi32, #attn.axes<row>>
    ```
  }];
  let arguments = (ins Attn_RowIds:$input);
  let results = (outs Attn_RowIds:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

//===----------------------------------------------------------------------===//
// Vocabulary
//===----------------------------------------------------------------------===//

def Attn_LogSoftmaxOp : Attn_PureOp<"log_softmax", [SameOperandsAndResultType]> {
  let summary = "`logits - log(sum(exp(logits)))` along the width (vocabulary) axis";
  let description = [{
    Example:
    ```mlir
    %p = attn.log_softmax %logits : tensor<?x?x43xf32, #attn.axes<batch, target, width>>
    ```
  }];
  let arguments = (ins Attn_Rows:$logits);
  let results = (outs Attn_Rows:$result);
  let assemblyFormat = "$logits attr-dict `:` type($logits)";
}

def Attn_LogSumExpOp : Attn_PureOp<"log_sum_exp", [InferTypeOpAdaptor]> {
  let summary = "`log(sum(exp(logits)))` along the width (vocabulary) axis: logits less this are log-probabilities";
  let description = [{
    Example:
    ```mlir
    %s = attn.log_sum_exp %logits : (tensor<?x?x43xf32, #attn.axes<batch, target, width>>) -> tensor<?x?xf32, #attn.axes<batch, target>>
    ```
  }];
  let arguments = (ins Attn_Rows:$logits);
  let results = (outs Attn_Float:$result);
  let assemblyFormat = "$logits attr-dict `:` functional-type(operands, results)";
}

def Attn_PickOp : Attn_PureOp<"pick", [InferTypeOpAdaptor]> {
  let summary = "Takes one element of each row: `result[...] = input[..., ids[...]]`";
  let description = [{
    Ids outside of the width are the caller's mistake.

    Constraints:
    * (C1) the ids' axes are the input's axes before the last.

    Example:
    ```mlir
    %p = attn.pick %x, %ids : (tensor<?x?x43xf32, #attn.axes<batch, target, width>>, tensor<?x?xi32, #attn.axes<batch, target>>) -> tensor<?x?xf32, #attn.axes<batch, target>>
    ```
  }];
  let arguments = (ins Attn_Rows:$input, Attn_Ids:$ids);
  let results = (outs Attn_Float:$result);
  let assemblyFormat = "$input `,` $ids attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // pick_c1
}

def Attn_TopKOp : Attn_PureOp<"top_k", [InferTypeOpAdaptor]> {
  let summary = "The largest elements of each row, best first; of equal ones the lower id first";
  let description = [{
    The last axis of both results is the size `candidate`, given by the caller, at most the input's width.

    Example:
    ```mlir
    %values, %ids = attn.top_k %p : (tensor<?x1x43xf32, #attn.axes<row, query, width>>) -> (tensor<?x1x?xf32, #attn.axes<row, query, candidate>>, tensor<?x1x?xi32, #attn.axes<row, query, candidate>>)
    ```
  }];
  let arguments = (ins Attn_Rows:$input);
  let results = (outs Attn_Rows:$values, Attn_Ids:$ids);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Recurrence
//===----------------------------------------------------------------------===//

def Attn_RecurrenceOp : Attn_PureOp<"recurrence", [IsolatedFromAbove, SingleBlock, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<Attn_QueryAxisInterface>]> {
  let summary = "Runs a cell over the query axis, carrying states from one position to the next";
  let description = [{
    The body gets one position of each sequence (`batch, 1, width`; ids `batch, 1`), then the states, then the
    constants, which are whole at every position; it yields one position of each output sequence, then the next
    states. Results are the sequences, then the last states. `lengths` ends a row early: past its length its states
    stay and its outputs are zero. `reverse` starts at each row's last position. Weights are read in the body.

    Outlined, it is a loop over the calls in its body; planned, `places` says where each output sequence lives.

    Constraints:
    * (C1) there is a sequence; sequences have the axes batch, query and width, or are ids of batch and query.
    * (C2) the body's arguments are a position of each sequence, the states and the constants.
    * (C3) the body yields a position of each output, then the states.
    * (C4) states have one position, and there is a last state for each initial one.

    Example:
    ```mlir
    %y, %last = attn.recurrence over (%x) init (%h) : (tensor<?x?x8xf32, #attn.axes<batch, source, width>>, tensor<?x1x8xf32, #attn.axes<batch, query, width>>) -> (tensor<?x?x8xf32, #attn.axes<batch, source, width>>, tensor<?x1x8xf32, #attn.axes<batch, query, width>>) {
    ^bb0(%now: tensor<?x1x8xf32, #attn.axes<batch, query, width>>, %state: tensor<?x1x8xf32, #attn.axes<batch, query, width>>):
      %sum = attn.add %now, %state : tensor<?x1x8xf32, #attn.axes<batch, query, width>>
      %next = attn.activation tanh %sum : tensor<?x1x8xf32, #attn.axes<batch, query, width>>
      attn.yield %next, %next : tensor<?x1x8xf32, #attn.axes<batch, query, width>>, tensor<?x1x8xf32, #attn.axes<batch, query, width>>
    }
    ```
  }];
  let arguments = (ins Variadic<Attn_Value>:$sequences, Variadic<Attn_Rows>:$initial, Variadic<Attn_Value>:$constants,
      Optional<Attn_RowIds>:$lengths, UnitAttr:$reverse,
      OptionalAttr<TypedArrayAttrBase<Attn_PlaceAttr, "places">>:$places);
  let results = (outs Variadic<Attn_Rows>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `over` `(` $sequences `)` `init` `(` $initial `)` (`with` `(` $constants^ `)`)? (`lengths` $lengths^)?
    (`reverse` $reverse^)? (`places` $places^)? attr-dict `:` functional-type(operands, results) $body
  }];
  let extraClassDeclaration = [{
    /// The results: output sequences, then a last state for each initial one.
    ::mlir::ResultRange getOutputs() { return getResults().drop_back(getLastCount()); }
    ::mlir::ResultRange getLast() { return getResults().take_back(getLastCount()); }
    size_t getLastCount() { return std::min<size_t>(getInitial().size(), getNumResults()); }

    /// The body's arguments, by what they stand for.
    ::mlir::ValueRange getPositions() { return ::mlir::ValueRange(getBody().getArguments()).take_front(getSequences().size()); }
    ::mlir::ValueRange getStates() {
      return ::mlir::ValueRange(getBody().getArguments()).slice(getSequences().size(), getInitial().size());
    }
    ::mlir::ValueRange getShared() { return ::mlir::ValueRange(getBody().getArguments()).take_back(getConstants().size()); }

    /// What the body yields: a position of each output, then the next states.
    ::mlir::OperandRange getYielded() { return getBody().front().getTerminator()->getOperands(); }
  }];
  let hasVerifier = 1; // recurrence_c1, recurrence_c2, recurrence_c3, recurrence_c4
}

def Attn_ZerosOp : Attn_PureOp<"zeros", [InferTypeOpAdaptor]> {
  let summary = "A state of zeros for each batch element";
  let description = [{
    Only the extent of `batch` is looked at, not what it holds.

    Constraints:
    * (C1) `width` is at least one.

    Example:
    ```mlir
    %h = attn.zeros for %lengths width 8 : (tensor<?xi32, #attn.axes<batch>>) -> tensor<?x1x8xf32, #attn.axes<batch, query, width>>
    ```
  }];
  let arguments = (ins Attn_RowIds:$batch, I64Attr:$width);
  let results = (outs Attn_Rows:$result);
  let assemblyFormat = "`for` $batch `width` $width attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // zeros_c1
}

def Attn_LiveOp : Attn_PureOp<"live", [InferTypeOpAdaptor]> {
  let summary = "Tells positions before each row's length (1) from those past it (0)";
  let description = [{
    Constraints:
    * (C1) there is one length for each batch element.

    Example:
    ```mlir
    %m = attn.live %x, %lengths : (tensor<?x?x8xf32, #attn.axes<batch, source, width>>, tensor<?xi32, #attn.axes<batch>>) -> tensor<?x?xi32, #attn.axes<batch, source>>
    ```
  }];
  let arguments = (ins TensorRankOf<[F32, I32], [2, 3]>:$sequence, Attn_RowIds:$lengths);
  let results = (outs Attn_Ids:$result);
  let assemblyFormat = "$sequence `,` $lengths attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // live_c1
}

def Attn_WhereOp : Attn_PureOp<"where", [InferTypeOpAdaptor]> {
  let summary = "Rows of `fresh` where `live` is not 0; elsewhere those of `kept`, or zeros";
  let description = [{
    Constraints:
    * (C1) `live` has the axes of `fresh` before the width.
    * (C2) `kept` has the type of `fresh`.

    Example:
    ```mlir
    %z = attn.where %live, %x else %y : (tensor<?x?xi32, #attn.axes<batch, source>>, tensor<?x?x8xf32, #attn.axes<batch, source, width>>, tensor<?x?x8xf32, #attn.axes<batch, source, width>>) -> tensor<?x?x8xf32, #attn.axes<batch, source, width>>
    ```
  }];
  let arguments = (ins TensorRankOf<[I32], [1, 2]>:$live, Attn_Rows:$fresh, Optional<Attn_Rows>:$kept);
  let results = (outs Attn_Rows:$result);
  let assemblyFormat = "$live `,` $fresh (`else` $kept^)? attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1; // where_c1, where_c2
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def Attn_YieldOp : Attn_PureOp<"yield", [Terminator, ReturnLike,
    ParentOneOf<["FusedOp", "KernelOp", "RecurrenceOp", "ScoreMapOp"]>]> {
  let summary = "Gives the results of a fused region, a kernel, a cell or a score map";
  let description = [{
    Example:
    ```mlir
    %y = attn.fused(%x) : (tensor<?x?x8xf32, #attn.axes<batch, source, width>>) -> tensor<?x?x8xf32, #attn.axes<batch, source, width>> {
    ^bb0(%in: tensor<?x?x8xf32, #attn.axes<batch, source, width>>):
      %out = attn.activation relu %in : tensor<?x?x8xf32, #attn.axes<batch, source, width>>
      attn.yield %out : tensor<?x?x8xf32, #attn.axes<batch, source, width>>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyTypeOf<[Attn_Value, F32]>>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Attn_FusedOp : Attn_PureOp<"fused", [IsolatedFromAbove, SingleBlock]> {
  let summary = "One piece of work that becomes one kernel";
  let description = [{
    The region is made of ordinary `attn` operations and says what is computed; nothing in it reaches memory but
    the yielded values.

    Constraints:
    * (C1) the region's arguments have the inputs' types.
    * (C2) the region yields values of the results' types.

    Example:
    ```mlir
    %y = attn.fused(%x, %w) : (tensor<?x?x8xf32, #attn.axes<batch, source, width>>, tensor<8x8xf32>) -> tensor<?x?x8xf32, #attn.axes<batch, source, width>> {
    ^bb0(%in: tensor<?x?x8xf32, #attn.axes<batch, source, width>>, %weight: tensor<8x8xf32>):
      %product = attn.linear %in, %weight : (tensor<?x?x8xf32, #attn.axes<batch, source, width>>, tensor<8x8xf32>) -> tensor<?x?x8xf32, #attn.axes<batch, source, width>>
      %out = attn.activation relu %product : tensor<?x?x8xf32, #attn.axes<batch, source, width>>
      attn.yield %out : tensor<?x?x8xf32, #attn.axes<batch, source, width>>
    }
    ```
  }];
  let arguments = (ins Variadic<Attn_Value>:$inputs);
  let results = (outs Variadic<Attn_Value>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type($inputs, $results) $body";
  let hasVerifier = 1; // fused_c1, fused_c2
}

def Attn_KernelOp : Attn_Op<"kernel", [IsolatedFromAbove, Symbol, SingleBlock]> {
  let summary = "One kernel: compiled once per target, called many times";
  let description = [{
    Block arguments are the kernel's inputs, yielded values its results, `scratch` memory that the caller
    provides after the results. Compiled, the function takes `halide_buffer_t` pointers in this order (inputs,
    results, scratch) after a user context; axes are reversed there, fastest first. Weights carry `#attn.panels`.
    A dynamic axis takes any extent; axes of one name have one extent.

    A kernel of a graph has the attribute `attn.graph`: how many rows a call has is its caller's choice, where a
    model's calls have as many as batch mates need. So it may sum up few queries in an order of their own.

    Constraints:
    * (C1) the region ends in a yield of at least one value.
    * (C2) each entry of `scratch` is a ranked tensor type.

    Example:
    ```mlir
    attn.kernel @relu {
    ^bb0(%in: tensor<?x8xf32, #attn.axes<row, width>>):
      %out = attn.activation relu %in : tensor<?x8xf32, #attn.axes<row, width>>
      attn.yield %out : tensor<?x8xf32, #attn.axes<row, width>>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<TypeArrayAttr>:$scratch);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name (`scratch` $scratch^)? attr-dict-with-keyword $body";
  let hasVerifier = 1; // kernel_c1, kernel_c2
}

def Attn_CallOp : Attn_Op<"call", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Calls a kernel";
  let description = [{
    Planned, `places` says where each result lives, `scratch` where each scratch buffer lives.

    Constraints:
    * (C1) `kernel` names an `attn.kernel`.
    * (C2) inputs and results are the kernel's in number, rank, element and known extents.
    * (C3) there is a place for each result, or for none.
    * (C4) there is a place for each scratch buffer, or for none.

    Example:
    ```mlir
    attn.kernel @copy {
    ^bb0(%in: tensor<?x8xf32, #attn.axes<row, width>>):
      attn.yield %in : tensor<?x8xf32, #attn.axes<row, width>>
    }
    %y = attn.call @copy(%x) places [#attn.place<arena, #attn.size<0>>] : (tensor<?x8xf32, #attn.axes<batch * source, width>>) -> tensor<?x8xf32, #attn.axes<batch * source, width>>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Attn_Value>:$inputs,
      OptionalAttr<TypedArrayAttrBase<Attn_PlaceAttr, "places">>:$places,
      OptionalAttr<TypedArrayAttrBase<Attn_PlaceAttr, "places">>:$scratch);
  let results = (outs Variadic<Attn_Value>:$results);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` (`places` $places^)? (`scratch` $scratch^)? attr-dict `:`
    functional-type($inputs, $results)
  }];
  let hasVerifier = 1; // call_c1, call_c2, call_c3, call_c4
}

#endif // ATTN_OPS
