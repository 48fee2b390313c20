//===- AttnAttributes.td - attributes and types of the attn dialect ----*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Axis names, weight layouts, size formulas and places.

#ifndef ATTN_ATTRIBUTES
#define ATTN_ATTRIBUTES

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "dialect/IR/AttnDialect.td"

class Attn_Attr<string name, string text, list<Trait> traits = []> : AttrDef<Attn_Dialect, name, traits> {
  let mnemonic = text;
}

def Attn_AxesAttr : Attn_Attr<"Axes", "axes"> {
  let summary = "Names of a tensor's axes, slowest first";
  let description = [{
    `#attn.axes<batch, source, width>`. The name of a dynamic axis is the name of its size, or a product of sizes
    where axes were collapsed (`#attn.axes<batch * source, width>`); the name of a static axis says what it is
    (`head`, `width`).
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Attn_PanelsAttr : Attn_Attr<"Panels", "panels"> {
  let summary = "Weight layout: panels of `columns` outputs";
  let description = [{
    A weight of shape out x in is stored as ceil(out / columns) panels; a panel holds, for each input `k` in
    order, `columns` consecutive outputs. Outputs past the end are zero. Halide sees `(columns, in, panels)`,
    fastest first.

    With a `group` above 1 (2 for bf16, 4 for i8) that many consecutive inputs of a column lie side by side, as
    instructions for sums of products want them: `(group, columns, in / group, panels)`. Inputs are filled up
    with zeros to a multiple of 64 bytes.
  }];
  let parameters = (ins "int64_t":$columns, DefaultValuedParameter<"int64_t", "1">:$group);
  let assemblyFormat = "`<` $columns (`,` $group^)? `>`";
}

def Attn_SinusoidAttr : Attn_Attr<"Sinusoid", "sinusoid"> {
  let summary = "How a sinusoidal position table is computed";
  let description = [{
    Row `p` of a table of even width `d` holds sin and cos of `(p + start) * w[j]`, `j` in `0 .. d/2-1`
    (Vaswani et al. 2017, section 3.5). `interleaved` places them as sin, cos, sin, cos; otherwise all sines come
    before all cosines. `w[j] = base^(-2j/d)`, or with `inclusive` (Tensor2Tensor, OpenNMT)
    `w[j] = base^(-j/(d/2-1))`, so that the last rate is 1/base itself. `base` is 10000 where it is not given.
  }];
  let parameters = (ins "bool":$interleaved, "bool":$inclusive, "int64_t":$start,
      DefaultValuedParameter<"int64_t", "10000">:$base);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Attn_SizeAttr : Attn_Attr<"Size", "size"> {
  let summary = "A size in bytes or elements: a polynomial in named sizes with whole coefficients";
  let description = [{
    A sum of products, `#attn.size<64 + 2048 * batch * source>`, kept sorted and without zero terms, so equal
    sizes are equal attributes. Evaluated at run time from the entry's sizes (or a state's capacities).
  }];
  // A term is a coefficient and a sorted list of names (with repetition for powers).
  let parameters = (ins ArrayRefParameter<"::attn::SizeTerm">:$terms);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Sorts, adds equal products up and drops zeros: the only way to make a size.
    static SizeAttr getCanonical(::mlir::MLIRContext *context, ::llvm::ArrayRef<SizeTerm> terms);
    static SizeAttr getConstant(::mlir::MLIRContext *context, int64_t value);
    /// The size `name`.
    static SizeAttr getNamed(::mlir::MLIRContext *context, ::llvm::StringRef name);

    SizeAttr plus(SizeAttr other) const;
    SizeAttr times(SizeAttr other) const;
    SizeAttr times(int64_t factor) const;

    /// The text of the manifest: `64 + 2048 * batch * source`.
    std::string str() const;
  }];
}

def Attn_MemoryArena : I32EnumCase<"arena", 0>;
def Attn_MemoryState : I32EnumCase<"state", 1>;
def Attn_MemoryWeights : I32EnumCase<"weights", 2>;
def Attn_MemoryArgument : I32EnumCase<"argument", 3>;
def Attn_MemoryResult : I32EnumCase<"result", 4>;
def Attn_MemoryOutput : I32EnumCase<"output", 5>;
def Attn_Memory : I32Enum<"Memory", "where a value lives", [Attn_MemoryArena, Attn_MemoryState, Attn_MemoryWeights,
    Attn_MemoryArgument, Attn_MemoryResult, Attn_MemoryOutput]> {
  let cppNamespace = "::attn";
}

def Attn_PlaceAttr : Attn_Attr<"Place", "place"> {
  let summary = "Where a value lives once planned";
  let description = [{
    `memory` and an offset in bytes; for `argument` and `result` the offset is its number in the entry, for `output`
    the number of an output sequence of the recurrence around, at its present position. `order`
    lists the axes as they are stored, slowest first; empty means as in the type. A context of attention that
    is only merged is stored `[0, 2, 1, 3]`, so merging is a view. `rows` tells how many elements lie from one
    row (the last axis, or the last two of what is merged) to the next, where they do not follow each other.
  }];
  let parameters = (ins EnumParameter<Attn_Memory>:$memory, DefaultValuedParameter<"int64_t", "0">:$rows,
      "::attn::SizeAttr":$offset, OptionalArrayRefParameter<"int64_t">:$order);
  let assemblyFormat = "`<` $memory (`rows` $rows^)? `,` $offset (`,` `[` $order^ `]`)? `>`";
}

def Attn_Relu : I32EnumCase<"relu", 0>;
def Attn_Gelu : I32EnumCase<"gelu", 1>;
def Attn_GeluTanh : I32EnumCase<"gelu_tanh", 2>;
def Attn_Silu : I32EnumCase<"silu", 3>;
def Attn_Tanh : I32EnumCase<"tanh", 4>;
def Attn_Sigmoid : I32EnumCase<"sigmoid", 5>;
def Attn_ActivationKind : I32Enum<"ActivationKind", "a pointwise function of one value",
    [Attn_Relu, Attn_Gelu, Attn_GeluTanh, Attn_Silu, Attn_Tanh, Attn_Sigmoid]> {
  let cppNamespace = "::attn";
}
def Attn_ActivationAttr : EnumAttr<Attn_Dialect, Attn_ActivationKind, "activation"> {
  let assemblyFormat = "$value";
}

def Attn_Bf16 : I32EnumCase<"bf16", 0>;
def Attn_Int8 : I32EnumCase<"int8", 1>;
def Attn_Storage : I32Enum<"Storage", "how a weight is stored, where not as f32", [Attn_Bf16, Attn_Int8]> {
  let cppNamespace = "::attn";
}
def Attn_StorageAttr : EnumAttr<Attn_Dialect, Attn_Storage, "storage"> {
  let assemblyFormat = "$value";
}

// What a value may be. Widths are static, batch and lengths may be `?`.
def Attn_Float : RankedTensorOf<[F32]>;
def Attn_Ids : RankedTensorOf<[I32]>;
def Attn_Stored : RankedTensorOf<[F32, BF16, I8]>; // a weight in memory
def Attn_Value : RankedTensorOf<[F32, I32, BF16, I8, UI8]>;
def Attn_Rows : TensorRankOf<[F32], [2, 3]>;      // (batch, query, width) or (row, width)
def Attn_Heads : TensorRankOf<[F32], [4]>;        // batch, head, query, width
def Attn_RowsHeld : TensorRankOf<[F32, BF16], [2, 3]>;  // rows in memory: as they are, or rounded
def Attn_HeadsHeld : TensorRankOf<[F32, BF16], [4]>;
def Attn_Held : RankedTensorOf<[F32, BF16]>;
def Attn_Scores : TensorRankOf<[F32], [4]>;       // batch, head, query, key
def Attn_ByteRows : TensorRankOf<[UI8], [2, 3]>;  // quantised rows
def Attn_Matrix : TensorRankOf<[F32], [2]>;       // out, in
def Attn_StoredMatrix : TensorRankOf<[F32, BF16, I8], [2]>; // out, in
def Attn_Vector : TensorRankOf<[F32], [1]>;       // width
def Attn_RowIds : TensorRankOf<[I32], [1]>;       // batch

#endif // ATTN_ATTRIBUTES
