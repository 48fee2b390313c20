// RUN: attnc-opt --attn-outline-kernels %s | FileCheck %s

!source = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!target = tensor<?x?x8xf32, #attn.axes<batch, target, width>>
!step = tensor<?x1x8xf32, #attn.axes<row, query, width>>
!w = tensor<8x8xf32, #attn.panels<32>>

attn.weight @w from ["w"] : !w
// CHECK-NOT: @never_read
attn.weight @never_read from ["n"] : !w

// One kernel on rows serves a source, a target and a step.
// CHECK: attn.kernel @linear_8x8_relu {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<?x8xf32, #attn.axes<row, width>>, %{{.*}}: tensor<8x8xf32, #attn.panels<32>>):
// CHECK-NEXT: attn.linear
// CHECK-NEXT: attn.activation relu
// CHECK-NEXT: attn.yield
// CHECK-NOT: attn.kernel @linear_8x8_relu

// A value that is queries, keys and values is the kernel's queries and its keys, of any extent.
// CHECK: attn.kernel @attention_2x4 {
// CHECK-NEXT: ^bb0(%[[Q:.*]]: tensor<?x2x?x4xf32, #attn.axes<batch, head, query, width>>, %[[K:.*]]: tensor<?x2x?x4xf32, #attn.axes<batch, head, key, width>>):
// CHECK-NEXT: attn.matmul %[[Q]], %[[K]] transposed

// A spec's batch that is called as another axis of the kernel is not that axis.
// CHECK: attn.kernel @attention_5x4_padding {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<?x5x?x4xf32, #attn.axes<batch.query, head, query, width>>, %{{.*}}: tensor<?x5x?x4xf32, #attn.axes<batch.query, head, key, width>>, %{{.*}}: tensor<?xi32, #attn.axes<batch.query>>):

// CHECK: attn.kernel @attention_1x3 {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<?x1x?x3xf32, #attn.axes<batch, head, query, width>>, %{{.*}}: tensor<?x1x?x3xf32

// Two panels of 32 hold 43 outputs.
// CHECK: attn.kernel @linear_8x43_log_softmax_top_k scratch [tensor<?x2xf32, #attn.axes<row, panel>>, tensor<?x2xf32, #attn.axes<row, panel>>] {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<?x8xf32, #attn.axes<row, width>>, %{{.*}}: tensor<43x8xf32>):

// CHECK-LABEL: func.func @collapses_rows(
// CHECK-SAME: %[[X:.*]]: tensor
func.func @collapses_rows(%x: !source) -> !source {
  // CHECK: %[[ROWS:.*]] = attn.collapse %[[X]] : {{.*}} -> tensor<?x8xf32, #attn.axes<batch * source, width>>
  // CHECK: %[[Y:.*]] = attn.call @linear_8x8_relu(%[[ROWS]], %{{.*}})
  // CHECK: attn.expand %[[Y]] : {{.*}} -> tensor<?x?x8xf32, #attn.axes<batch, source, width>>
  %w = attn.get_weight @w : !w
  %n = attn.get_weight @never_read : !w
  %y = attn.fused(%x, %w) : (!source, !w) -> !source {
  ^bb0(%in: !source, %weight: !w):
    %0 = attn.linear %in, %weight : (!source, !w) -> !source
    %1 = attn.activation relu %0 : !source
    attn.yield %1 : !source
  }
  return %y : !source
}

// CHECK-LABEL: func.func @keeps_rows_collapsed_between_calls(
func.func @keeps_rows_collapsed_between_calls(%x: !target) -> !target {
  // CHECK: attn.collapse
  // CHECK: %[[Y:.*]] = attn.call @linear_8x8_relu
  // CHECK-NOT: attn.collapse
  // CHECK: attn.call @linear_8x8_relu(%[[Y]], %{{.*}})
  %w = attn.get_weight @w : !w
  %y = attn.fused(%x, %w) : (!target, !w) -> !target {
  ^bb0(%in: !target, %weight: !w):
    %0 = attn.linear %in, %weight : (!target, !w) -> !target
    %1 = attn.activation relu %0 : !target
    attn.yield %1 : !target
  }
  %z = attn.fused(%y, %w) : (!target, !w) -> !target {
  ^bb0(%in: !target, %weight: !w):
    %0 = attn.linear %in, %weight : (!target, !w) -> !target
    %1 = attn.activation relu %0 : !target
    attn.yield %1 : !target
  }
  return %z : !target
}

// CHECK-LABEL: func.func @calls_the_same_kernel_in_a_step(
func.func @calls_the_same_kernel_in_a_step(%x: !step) -> !step {
  // CHECK: attn.call @linear_8x8_relu({{.*}}) : (tensor<?x8xf32, #attn.axes<row, width>>
  %w = attn.get_weight @w : !w
  %y = attn.fused(%x, %w) : (!step, !w) -> !step {
  ^bb0(%in: !step, %weight: !w):
    %0 = attn.linear %in, %weight : (!step, !w) -> !step
    %1 = attn.activation relu %0 : !step
    attn.yield %1 : !step
  }
  return %y : !step
}

!heads = tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>
!scores = tensor<?x2x?x?xf32, #attn.axes<batch, head, source, source>>
// CHECK-LABEL: func.func @passes_a_value_in_two_roles_twice(
// CHECK-SAME: %[[X:.*]]: tensor
func.func @passes_a_value_in_two_roles_twice(%x: !heads) -> !heads {
  // CHECK: attn.call @attention_2x4(%[[X]], %[[X]])
  %y = attn.fused(%x) : (!heads) -> !heads {
  ^bb0(%in: !heads):
    %0 = attn.matmul %in, %in transposed : (!heads, !heads) -> !scores
    %1 = attn.softmax %0 : !scores
    %2 = attn.matmul %1, %in : (!scores, !heads) -> !heads
    attn.yield %2 : !heads
  }
  return %y : !heads
}

!queries = tensor<?x5x?x4xf32, #attn.axes<query, head, n, width>>
!query_scores = tensor<?x5x?x?xf32, #attn.axes<query, head, n, n>>
!query_lengths = tensor<?xi32, #attn.axes<query>>
// CHECK-LABEL: func.func @has_a_batch_that_is_called_query(
func.func @has_a_batch_that_is_called_query(%x: !queries, %lengths: !query_lengths) -> !queries {
  // CHECK: attn.call @attention_5x4_padding
  %y = attn.fused(%x, %lengths) : (!queries, !query_lengths) -> !queries {
  ^bb0(%in: !queries, %n: !query_lengths):
    %0 = attn.matmul %in, %in transposed : (!queries, !queries) -> !query_scores
    %1 = attn.padding_mask %0, %n : (!query_scores, !query_lengths) -> !query_scores
    %2 = attn.softmax %1 : !query_scores
    %3 = attn.matmul %2, %in : (!query_scores, !queries) -> !queries
    attn.yield %3 : !queries
  }
  return %y : !queries
}

!keys = tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>
!query = tensor<?x2x1x4xf32, #attn.axes<row, head, query, width>>
!row_keys = tensor<?x2x?x4xf32, #attn.axes<row, head, source, width>>
!row_scores = tensor<?x2x1x?xf32, #attn.axes<row, head, query, source>>
!rows = tensor<?xi32, #attn.axes<row>>
// CHECK-LABEL: func.func @shares_a_kernel_whatever_the_order_of_its_operations(
// CHECK-SAME: %[[Q:.*]]: tensor{{.*}}, %[[K:.*]]: tensor{{.*}}, %[[V:.*]]: tensor{{.*}}, %[[ROWS:.*]]: tensor
func.func @shares_a_kernel_whatever_the_order_of_its_operations(%q: !query, %k: !keys, %v: !keys, %rows: !rows) -> (!query, !query) {
  // CHECK: attn.call @[[SHARED:attention_shared_2x4]](%[[K]], %[[ROWS]], %[[Q]], %[[V]])
  %0 = attn.fused(%q, %k, %v, %rows) : (!query, !keys, !keys, !rows) -> !query {
  ^bb0(%query: !query, %key: !keys, %value: !keys, %of: !rows):
    %1 = attn.take %key, %of : (!keys, !rows) -> !row_keys
    %2 = attn.matmul %query, %1 transposed : (!query, !row_keys) -> !row_scores
    %3 = attn.softmax %2 : !row_scores
    %4 = attn.take %value, %of : (!keys, !rows) -> !row_keys
    %5 = attn.matmul %3, %4 : (!row_scores, !row_keys) -> !query
    attn.yield %5 : !query
  }
  // CHECK: attn.call @[[SHARED]](%[[K]], %[[ROWS]], %[[Q]], %[[V]])
  %6 = attn.fused(%rows, %v, %k, %q) : (!rows, !keys, !keys, !query) -> !query {
  ^bb0(%of: !rows, %value: !keys, %key: !keys, %query: !query):
    %7 = attn.take %value, %of : (!keys, !rows) -> !row_keys
    %8 = attn.take %key, %of : (!keys, !rows) -> !row_keys
    %9 = attn.matmul %query, %8 transposed : (!query, !row_keys) -> !row_scores
    %10 = attn.softmax %9 : !row_scores
    %11 = attn.matmul %10, %7 : (!row_scores, !row_keys) -> !query
    attn.yield %11 : !query
  }
  return %0, %6 : !query, !query
}

!fixed = tensor<1x1x3x3xf32>
!fixed_scores = tensor<1x1x3x3xf32>
// CHECK-LABEL: func.func @takes_known_extents_for_any(
func.func @takes_known_extents_for_any(%x: !fixed) -> !fixed {
  // CHECK: attn.call @attention_1x3({{.*}}) : (tensor<1x1x3x3xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x3x3xf32>
  %y = attn.fused(%x) : (!fixed) -> !fixed {
  ^bb0(%in: !fixed):
    %0 = attn.matmul %in, %in transposed : (!fixed, !fixed) -> !fixed_scores
    %1 = attn.softmax %0 : !fixed_scores
    %2 = attn.matmul %1, %in : (!fixed_scores, !fixed) -> !fixed
    attn.yield %2 : !fixed
  }
  return %y : !fixed
}

!p = tensor<?x1x43xf32, #attn.axes<row, query, width>>
!best = tensor<?x1x?xf32, #attn.axes<row, query, candidate>>
!best_ids = tensor<?x1x?xi32, #attn.axes<row, query, candidate>>
// CHECK-LABEL: func.func @asks_for_scratch_instead_of_logits(
func.func @asks_for_scratch_instead_of_logits(%x: !step, %t: tensor<43x8xf32>) -> (!best, !best_ids) {
  // CHECK: attn.call @linear_8x43_log_softmax_top_k({{.*}}) -> (tensor<?x?xf32, #attn.axes<row, candidate>>, tensor<?x?xi32, #attn.axes<row, candidate>>)
  %v, %i = attn.fused(%x, %t) : (!step, tensor<43x8xf32>) -> (!best, !best_ids) {
  ^bb0(%in: !step, %table: tensor<43x8xf32>):
    %0 = attn.linear %in, %table : (!step, tensor<43x8xf32>) -> !p
    %1 = attn.log_softmax %0 : !p
    %2, %3 = attn.top_k %1 : (!p) -> (!best, !best_ids)
    attn.yield %2, %3 : !best, !best_ids
  }
  return %v, %i : !best, !best_ids
}
