// RUN: attnc-opt --attn-plan-memory %s | FileCheck %s

// CHECK: module attributes {attn.sizes = ["batch", "capacity", "row", "slot", "source"], attn.state_bytes = #attn.size<64 * batch * source + 64 * capacity * slot>, attn.weight_bytes = 5376 : i64}

!x = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!rows = tensor<?x8xf32, #attn.axes<batch * source, width>>
!step = tensor<?x1x1x8xf32, #attn.axes<row, head, query, width>>
!cache = tensor<?x?x1x8xf32, #attn.axes<slot, capacity, head, width>>
!heads = tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>
!long = tensor<?x1024xf32, #attn.axes<batch * source, width>>
!uneven = tensor<?x1040xf32, #attn.axes<batch * source, width>>
!long_heads = tensor<?x16x?x64xf32, #attn.axes<batch, head, source, width>>

// A panel is full: 32 x 8 floats for 5 outputs, two of them for 33. Vectors fill whole panels too.
// CHECK: attn.weight @five from ["a"] at 0 : tensor<5x8xf32, #attn.panels<32>>
attn.weight @five from ["a"] : tensor<5x8xf32, #attn.panels<32>>
// CHECK: attn.weight @thirty_three from ["b"] at 1024 : tensor<33x8xf32, #attn.panels<32>>
attn.weight @thirty_three from ["b"] : tensor<33x8xf32, #attn.panels<32>>
// CHECK: attn.weight @vector from ["c"] at 3072 : tensor<33xf32>
attn.weight @vector from ["c"] : tensor<33xf32>
// CHECK: attn.weight @dense from ["d"] at 3328 : tensor<64x8xf32>
attn.weight @dense from ["d"] : tensor<64x8xf32>

// 32 bytes an element are 64, so that every offset is a multiple of 64.
// CHECK: attn.state @source at <0>
attn.state @source : !x
// CHECK: attn.state @cache at <64 * batch * source>
attn.state @cache : !cache

attn.kernel @rows {
^bb0(%in: tensor<?x8xf32, #attn.axes<row, width>>):
  attn.yield %in : tensor<?x8xf32, #attn.axes<row, width>>
}
attn.kernel @heads {
^bb0(%in: tensor<?x2x?x4xf32, #attn.axes<batch, head, query, width>>):
  attn.yield %in : tensor<?x2x?x4xf32, #attn.axes<batch, head, query, width>>
}
attn.kernel @long {
^bb0(%in: tensor<?x1024xf32, #attn.axes<row, width>>):
  attn.yield %in : tensor<?x1024xf32, #attn.axes<row, width>>
}
attn.kernel @uneven {
^bb0(%in: tensor<?x1040xf32, #attn.axes<row, width>>):
  attn.yield %in : tensor<?x1040xf32, #attn.axes<row, width>>
}
attn.kernel @long_heads {
^bb0(%in: tensor<?x16x?x64xf32, #attn.axes<batch, head, query, width>>):
  attn.yield %in : tensor<?x16x?x64xf32, #attn.axes<batch, head, query, width>>
}
attn.kernel @with_scratch scratch [tensor<?x2xf32, #attn.axes<row, panel>>] {
^bb0(%in: tensor<?x8xf32, #attn.axes<row, width>>):
  attn.yield %in : tensor<?x8xf32, #attn.axes<row, width>>
}
attn.kernel @linear_norm {
^bb0(%in: tensor<?x8xf32, #attn.axes<row, width>>, %weight: tensor<8x8xf32>, %scale: tensor<8xf32>):
  %0 = attn.linear %in, %weight : (tensor<?x8xf32, #attn.axes<row, width>>, tensor<8x8xf32>) -> tensor<?x8xf32, #attn.axes<row, width>>
  %1 = attn.layer_norm %0, %scale epsilon 1.0e-5 : (tensor<?x8xf32, #attn.axes<row, width>>, tensor<8xf32>) -> tensor<?x8xf32, #attn.axes<row, width>>
  attn.yield %0, %1 : tensor<?x8xf32, #attn.axes<row, width>>, tensor<?x8xf32, #attn.axes<row, width>>
}
attn.kernel @append {
^bb0(%fresh: !step, %before: !cache, %positions: tensor<?xi32, #attn.axes<row>>):
  %0 = attn.append %fresh, %before at %positions : (!step, !cache, tensor<?xi32, #attn.axes<row>>) -> !cache
  attn.yield %0 : !cache
}

// CHECK-LABEL: func.func @shares_memory_of_values_that_do_not_meet(
// CHECK-SAME: attributes {attn.arena = #attn.size<128 * batch * source>}
func.func @shares_memory_of_values_that_do_not_meet(%x: !rows) -> !rows {
  // A call's result is never where one of its operands is.
  // CHECK: attn.call @rows({{.*}}) places [#attn.place<arena, <0>>]
  // CHECK: attn.call @rows({{.*}}) places [#attn.place<arena, <64 * batch * source>>]
  // CHECK: attn.call @rows({{.*}}) places [#attn.place<arena, <0>>]
  // CHECK: attn.call @rows({{.*}}) places [#attn.place<result, <0>>]
  %0 = attn.call @rows(%x) : (!rows) -> !rows
  %1 = attn.call @rows(%0) : (!rows) -> !rows
  %2 = attn.call @rows(%1) : (!rows) -> !rows
  %3 = attn.call @rows(%2) : (!rows) -> !rows
  return %3 : !rows
}

// CHECK-LABEL: func.func @keeps_a_value_while_a_view_of_it_is_read(
// CHECK-SAME: attributes {attn.arena = #attn.size<128 * batch * source>}
func.func @keeps_a_value_while_a_view_of_it_is_read(%x: !rows) -> (!rows, !rows) {
  // CHECK: attn.call @rows({{.*}}) places [#attn.place<arena, <0>>]
  // CHECK: attn.call @rows({{.*}}) places [#attn.place<arena, <64 * batch * source>>]
  %0 = attn.call @rows(%x) : (!rows) -> !rows
  %view = attn.expand %0 : (!rows) -> !x
  %1 = attn.call @rows(%x) : (!rows) -> !rows
  %2 = attn.call @rows(%1) : (!rows) -> !rows
  %again = attn.collapse %view : (!x) -> !rows
  %3 = attn.call @rows(%again) : (!rows) -> !rows
  return %2, %3 : !rows, !rows
}

// CHECK-LABEL: func.func @stores_merged_heads_in_the_order_of_merging(
func.func @stores_merged_heads_in_the_order_of_merging(%x: !heads) -> !x {
  // CHECK: attn.call @heads({{.*}}) places [#attn.place<result, <0>, [0, 2, 1, 3]>]
  %0 = attn.call @heads(%x) : (!heads) -> !heads
  %1 = attn.merge_heads %0 : (!heads) -> !x
  return %1 : !x
}

// 4,096 bytes and 64 more. What the caller sees is dense.
// CHECK-LABEL: func.func @sets_long_rows_apart(
// CHECK-SAME: attributes {attn.arena = #attn.size<4160 * batch * source>}
func.func @sets_long_rows_apart(%x: !long) -> !long {
  // CHECK: attn.call @long({{.*}}) places [#attn.place<arena rows 1040, <0>>]
  // CHECK: attn.call @long({{.*}}) places [#attn.place<result, <0>>]
  %0 = attn.call @long(%x) : (!long) -> !long
  %1 = attn.call @long(%0) : (!long) -> !long
  return %1 : !long
}

// CHECK-LABEL: func.func @leaves_rows_alone_whose_lines_are_spread(
// CHECK-SAME: attributes {attn.arena = #attn.size<4160 * batch * source>}
func.func @leaves_rows_alone_whose_lines_are_spread(%x: !uneven) -> !uneven {
  // CHECK: attn.call @uneven({{.*}}) places [#attn.place<arena, <0>>]
  %0 = attn.call @uneven(%x) : (!uneven) -> !uneven
  %1 = attn.call @uneven(%0) : (!uneven) -> !uneven
  return %1 : !uneven
}

// CHECK-LABEL: func.func @sets_long_rows_of_merged_heads_apart(
// CHECK-SAME: attributes {attn.arena = #attn.size<4160 * batch * source>}
func.func @sets_long_rows_of_merged_heads_apart(%x: !long_heads) -> !long {
  // CHECK: attn.call @long_heads({{.*}}) places [#attn.place<arena rows 1040, <0>, [0, 2, 1, 3]>]
  %0 = attn.call @long_heads(%x) : (!long_heads) -> !long_heads
  %1 = attn.merge_heads %0 : (!long_heads) -> tensor<?x?x1024xf32, #attn.axes<batch, source, width>>
  %2 = attn.collapse %1 : (tensor<?x?x1024xf32, #attn.axes<batch, source, width>>) -> !long
  %3 = attn.call @long(%2) : (!long) -> !long
  return %3 : !long
}

// CHECK-LABEL: func.func @places_scratch_by_the_callers_sizes(
// CHECK-SAME: attributes {attn.arena = #attn.size<64 * batch * source>}
func.func @places_scratch_by_the_callers_sizes(%x: !rows) -> !rows {
  // CHECK: attn.call @with_scratch({{.*}}) places [#attn.place<result, <0>>] scratch [#attn.place<arena, <0>>]
  %0 = attn.call @with_scratch(%x) : (!rows) -> !rows
  return %0 : !rows
}

// CHECK-LABEL: func.func @writes_states_in_place(
// CHECK-SAME: attributes {attn.arena = #attn.size<0>}
func.func @writes_states_in_place(%x: !rows, %fresh: !step, %positions: tensor<?xi32, #attn.axes<row>>) {
  // CHECK: attn.call @rows({{.*}}) places [#attn.place<state, <0>>]
  // CHECK: attn.call @append({{.*}}) places [#attn.place<state, <64 * batch * source>>]
  %0 = attn.call @rows(%x) : (!rows) -> !rows
  %1 = attn.expand %0 : (!rows) -> !x
  attn.write_state %1, @source : !x
  %2 = attn.read_state @cache : !cache
  %3 = attn.call @append(%fresh, %2, %positions) : (!step, !cache, tensor<?xi32, #attn.axes<row>>) -> !cache
  attn.write_state %3, @cache : !cache
  return
}

// CHECK-LABEL: func.func @norms_a_sum_in_its_place(
// CHECK-SAME: attributes {attn.arena = #attn.size<128 * batch * source>}
func.func @norms_a_sum_in_its_place(%x: !rows, %weight: tensor<8x8xf32>, %scale: tensor<8xf32>) -> !rows {
  // CHECK: attn.call @linear_norm({{.*}}) places [#attn.place<arena, <0>>, #attn.place<arena, <0>>]
  // CHECK: attn.call @linear_norm({{.*}}) places [#attn.place<result, <0>>, #attn.place<result, <0>>]
  %0:2 = attn.call @linear_norm(%x, %weight, %scale) : (!rows, tensor<8x8xf32>, tensor<8xf32>) -> (!rows, !rows)
  %1:2 = attn.call @linear_norm(%0#1, %weight, %scale) : (!rows, tensor<8x8xf32>, tensor<8xf32>) -> (!rows, !rows)
  // A sum that is read later keeps its own.
  // CHECK: attn.call @linear_norm({{.*}}) places [#attn.place<arena, <0>>, #attn.place<arena, <64 * batch * source>>]
  %2:2 = attn.call @linear_norm(%x, %weight, %scale) : (!rows, tensor<8x8xf32>, tensor<8xf32>) -> (!rows, !rows)
  // CHECK: attn.call @rows({{.*}})
  %3 = attn.call @rows(%2#0) : (!rows) -> !rows
  return %1#1 : !rows
}
