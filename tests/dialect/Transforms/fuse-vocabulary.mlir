// RUN: attnc-opt --attn-fuse-vocabulary -verify-diagnostics %s | FileCheck %s

!x = tensor<?x1x8xf32, #attn.axes<row, query, width>>
!logits = tensor<?x1x43xf32, #attn.axes<row, query, width>>
!sums = tensor<?x1xf32, #attn.axes<row, query>>
!best = tensor<?x1x?xf32, #attn.axes<row, query, candidate>>
!best_ids = tensor<?x1x?xi32, #attn.axes<row, query, candidate>>

// CHECK-LABEL: @keeps_logits_inside(
func.func @keeps_logits_inside(%x: !x, %w: tensor<43x8xf32>) -> (!best, !best_ids) {
  // CHECK-NEXT: %[[BEST:.*]]:2 = attn.fused
  // CHECK: attn.linear
  // CHECK-NEXT: attn.log_softmax
  // CHECK-NEXT: attn.top_k
  // CHECK: return %[[BEST]]#0, %[[BEST]]#1
  // expected-remark @below {{fused: vocabulary of linear, log_softmax, top_k; 344 * row bytes less to write}}
  %l = attn.linear %x, %w : (!x, tensor<43x8xf32>) -> !logits
  %p = attn.log_softmax %l : !logits
  %v, %i = attn.top_k %p : (!logits) -> (!best, !best_ids)
  return %v, %i : !best, !best_ids
}

// CHECK-LABEL: @picks_inside(
func.func @picks_inside(%x: !x, %w: tensor<43x8xf32>, %ids: tensor<?x1xi32, #attn.axes<row, query>>) -> tensor<?x1xf32, #attn.axes<row, query>> {
  // CHECK-NEXT: attn.fused
  // CHECK: attn.pick
  // CHECK-NEXT: attn.yield
  // expected-remark @below {{fused: vocabulary of linear, log_softmax, pick}}
  %l = attn.linear %x, %w : (!x, tensor<43x8xf32>) -> !logits
  %p = attn.log_softmax %l : !logits
  %y = attn.pick %p, %ids : (!logits, tensor<?x1xi32, #attn.axes<row, query>>) -> tensor<?x1xf32, #attn.axes<row, query>>
  return %y : tensor<?x1xf32, #attn.axes<row, query>>
}

// CHECK-LABEL: @yields_probabilities_that_others_read(
func.func @yields_probabilities_that_others_read(%x: !x, %w: tensor<43x8xf32>) -> (!best, !logits) {
  // CHECK-NEXT: %[[P:.*]] = attn.fused
  // CHECK: attn.log_softmax
  // CHECK-NEXT: attn.yield
  // CHECK: attn.top_k %[[P]]
  // expected-remark @below {{fused: vocabulary of linear, log_softmax}}
  %l = attn.linear %x, %w : (!x, tensor<43x8xf32>) -> !logits
  %p = attn.log_softmax %l : !logits
  // expected-remark @below {{not fused: the log_softmax has a second reader}}
  %v, %i = attn.top_k %p : (!logits) -> (!best, !best_ids)
  return %v, %p : !best, !logits
}

// CHECK-LABEL: @keeps_logits_that_others_read(
func.func @keeps_logits_that_others_read(%x: !x, %w: tensor<43x8xf32>) -> (!logits, !logits) {
  // CHECK-NOT: attn.fused
  // CHECK: return
  %l = attn.linear %x, %w : (!x, tensor<43x8xf32>) -> !logits
  // expected-remark @below {{not fused: the logits have a second reader}}
  %p = attn.log_softmax %l : !logits
  return %p, %l : !logits, !logits
}

// CHECK-LABEL: @yields_logits_and_their_sum(
func.func @yields_logits_and_their_sum(%x: !x, %w: tensor<43x8xf32>) -> (!logits, !sums) {
  // CHECK-NEXT: %[[ALL:.*]]:2 = attn.fused
  // CHECK: attn.linear
  // CHECK-NEXT: attn.log_sum_exp
  // CHECK: return %[[ALL]]#0, %[[ALL]]#1
  // expected-remark @below {{fused: vocabulary of linear, log_sum_exp}}
  %l = attn.linear %x, %w : (!x, tensor<43x8xf32>) -> !logits
  %s = attn.log_sum_exp %l : (!logits) -> !sums
  return %l, %s : !logits, !sums
}

// CHECK-LABEL: @sums_what_is_read_before(
func.func @sums_what_is_read_before(%x: !x, %w: tensor<43x8xf32>) -> (!logits, !sums) {
  // CHECK-NOT: attn.fused
  // CHECK: return
  %l = attn.linear %x, %w : (!x, tensor<43x8xf32>) -> !logits
  %a = attn.activation relu %l : !logits
  // expected-remark @below {{not fused: others read the logits before it}}
  %s = attn.log_sum_exp %l : (!logits) -> !sums
  return %a, %s : !logits, !sums
}

// CHECK-LABEL: @sums_what_is_no_projection(
func.func @sums_what_is_no_projection(%l: !logits) -> !sums {
  // CHECK-NOT: attn.fused
  // CHECK: return
  // expected-remark @below {{not fused: the logits do not come from a linear}}
  %s = attn.log_sum_exp %l : (!logits) -> !sums
  return %s : !sums
}
