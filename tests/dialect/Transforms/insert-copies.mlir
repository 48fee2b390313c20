// RUN: attnc-opt --attn-insert-copies %s | FileCheck %s

!x = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!heads = tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>
attn.state @state : !x

// CHECK-LABEL: @copies_a_returned_argument(
// CHECK-SAME: %[[X:.*]]: tensor
func.func @copies_a_returned_argument(%x: !x) -> !x {
  // CHECK-NEXT: %[[COPY:.*]] = attn.fused(%[[X]])
  // CHECK-NEXT: ^bb0(%[[INSIDE:.*]]: tensor
  // CHECK-NEXT: attn.yield %[[INSIDE]]
  // CHECK: return %[[COPY]]
  return %x : !x
}

// CHECK-LABEL: @copies_the_second_of_two_equal_results(
func.func @copies_the_second_of_two_equal_results(%x: !x) -> (!x, !x) {
  // CHECK: %[[Y:.*]] = attn.fused
  // CHECK: attn.activation
  // CHECK: %[[COPY:.*]] = attn.fused(%[[Y]])
  // CHECK: return %[[Y]], %[[COPY]]
  %y = attn.fused(%x) : (!x) -> !x {
  ^bb0(%in: !x):
    %0 = attn.activation relu %in : !x
    attn.yield %0 : !x
  }
  return %y, %y : !x, !x
}

// CHECK-LABEL: @writes_merged_heads_in_place(
func.func @writes_merged_heads_in_place(%h: !heads) -> !x {
  // CHECK: attn.fused
  // CHECK-NOT: attn.fused
  // CHECK: return
  %y = attn.fused(%h) : (!heads) -> !heads {
  ^bb0(%in: !heads):
    %0 = attn.activation relu %in : !heads
    attn.yield %0 : !heads
  }
  %m = attn.merge_heads %y : (!heads) -> !x
  return %m : !x
}

// CHECK-LABEL: @copies_heads_that_are_merged_and_returned(
func.func @copies_heads_that_are_merged_and_returned(%h: !heads) -> (!heads, !x) {
  // CHECK: %[[Y:.*]] = attn.fused
  // CHECK: %[[COPY:.*]] = attn.fused(%[[Y]])
  // CHECK: %[[M:.*]] = attn.merge_heads %[[COPY]]
  // CHECK-NOT: attn.fused
  // CHECK: return %[[Y]], %[[M]]
  %y = attn.fused(%h) : (!heads) -> !heads {
  ^bb0(%in: !heads):
    %0 = attn.activation relu %in : !heads
    attn.yield %0 : !heads
  }
  %m = attn.merge_heads %y : (!heads) -> !x
  return %y, %m : !heads, !x
}

// CHECK-LABEL: @copies_given_heads_that_are_merged(
// CHECK-SAME: %[[H:.*]]: tensor
func.func @copies_given_heads_that_are_merged(%h: !heads) -> !x {
  // CHECK: %[[COPY:.*]] = attn.fused(%[[H]])
  // CHECK: %[[M:.*]] = attn.merge_heads %[[COPY]]
  // CHECK-NEXT: return %[[M]]
  %m = attn.merge_heads %h : (!heads) -> !x
  return %m : !x
}

// CHECK-LABEL: @copies_what_a_state_already_holds(
func.func @copies_what_a_state_already_holds(%x: !x) {
  // CHECK: %[[OLD:.*]] = attn.read_state
  // CHECK: %[[NEW:.*]] = attn.fused(%[[OLD]])
  // CHECK: %[[COPY:.*]] = attn.fused(%[[NEW]])
  // CHECK: attn.write_state %[[COPY]]
  %old = attn.read_state @state : !x
  %new = attn.fused(%old) : (!x) -> !x {
  ^bb0(%in: !x):
    %0 = attn.activation relu %in : !x
    attn.yield %0 : !x
  }
  attn.write_state %new, @state : !x
  return
}
