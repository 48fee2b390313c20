// RUN: attnc-opt %s | FileCheck %s
// Sizes are kept sorted, equal products are added up, and names of collapsed axes are products of sizes.

// CHECK: attn.sorts_and_adds = #attn.size<64 + 12 * batch + 2048 * batch * source>
module @sorts_and_adds attributes {attn.sorts_and_adds = #attn.size<2048 * source * batch + 5 * batch + 64 + batch * 7>} {}

// CHECK: attn.drops_zeros = #attn.size<3 * row>
module @drops_zeros attributes {attn.drops_zeros = #attn.size<0 + 3 * row + 0 * batch>} {}

// CHECK: attn.keeps_zero = #attn.size<0>
module @keeps_zero attributes {attn.keeps_zero = #attn.size<0>} {}

// CHECK: attn.keeps_powers = #attn.size<batch * source * source>
module @keeps_powers attributes {attn.keeps_powers = #attn.size<source * batch * source>} {}

// CHECK: attn.place = #attn.place<arena, <64 * row>, [0, 2, 1, 3]>
module @place attributes {attn.place = #attn.place<arena, #attn.size<64 * row>, [0, 2, 1, 3]>} {}

// CHECK: @names_products(tensor<?x8xf32, #attn.axes<7 * batch * source, width>>)
func.func private @names_products(tensor<?x8xf32, #attn.axes<source * 7 * batch, width>>)

// CHECK: weight @table sinusoid <interleaved = false, inclusive = true, start = 1> : tensor<16x8xf32>
attn.weight @table sinusoid <interleaved = false, inclusive = true, start = 1> : tensor<16x8xf32>

// CHECK: weight @literal value dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32> : tensor<2xf32>
attn.weight @literal value dense<[1.0, 2.0]> : tensor<2xf32> : tensor<2xf32>

// CHECK: weight @packed from ["w"] transposed at 4096 : tensor<16x8xf32, #attn.panels<32>>
attn.weight @packed from ["w"] transposed at 4096 : tensor<16x8xf32, #attn.panels<32>>

// CHECK: state @keys at <64 * slot> : tensor<?x8xf32, #attn.axes<slot, width>>
attn.state @keys at <64 * slot> : tensor<?x8xf32, #attn.axes<slot, width>>
