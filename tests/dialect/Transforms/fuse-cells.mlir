// RUN: attnc-opt -attn-fuse-cells %s | FileCheck %s

!source = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!one = tensor<?x1x8xf32, #attn.axes<batch, query, width>>
!gates = tensor<?x1x16xf32, #attn.axes<batch, query, width>>
attn.weight @w from ["w"] : tensor<16x8xf32>
attn.weight @v from ["v"] : tensor<8x8xf32>

// CHECK-LABEL: @makes_one_region_of_a_cell_in_a_loop
func.func @makes_one_region_of_a_cell_in_a_loop(%x: !source, %h: !one) -> !source {
  // CHECK: attn.recurrence
  // CHECK: attn.get_weight
  // CHECK-NEXT: %[[NEXT:.*]] = attn.fused
  // CHECK: attn.linear
  // CHECK: attn.mul
  // CHECK: attn.yield %[[NEXT]], %[[NEXT]]
  %y, %last = attn.recurrence over (%x) init (%h) : (!source, !one) -> (!source, !one) {
  ^bb0(%now: !one, %state: !one):
    %w = attn.get_weight @w : tensor<16x8xf32>
    %g = attn.linear %state, %w : (!one, tensor<16x8xf32>) -> !gates
    %a = attn.slice %g at 0 width 8 : (!gates) -> !one
    %b = attn.slice %g at 8 width 8 : (!gates) -> !one
    %z = attn.activation sigmoid %a : !one
    %n = attn.add %now, %b : !one
    %next = attn.mul %z, %n : !one
    attn.yield %next, %next : !one, !one
  }
  return %y : !source
}

// CHECK-LABEL: @keeps_layers_apart
func.func @keeps_layers_apart(%x: !source, %h: !one) -> !source {
  // CHECK: %[[FIRST:.*]] = attn.fused
  // CHECK: %[[SECOND:.*]] = attn.fused(%[[FIRST]]
  // CHECK: attn.yield %[[SECOND]], %[[FIRST]], %[[SECOND]]
  %y, %last:2 = attn.recurrence over (%x) init (%h, %h) : (!source, !one, !one) -> (!source, !one, !one) {
  ^bb0(%now: !one, %state: !one, %state2: !one):
    %w = attn.get_weight @w : tensor<16x8xf32>
    %g = attn.linear %state, %w : (!one, tensor<16x8xf32>) -> !gates
    %a = attn.slice %g at 0 width 8 : (!gates) -> !one
    %b = attn.slice %g at 8 width 8 : (!gates) -> !one
    %z = attn.activation sigmoid %a : !one
    %n = attn.add %now, %b : !one
    %next = attn.mul %z, %n : !one
    %g2 = attn.linear %next, %w : (!one, tensor<16x8xf32>) -> !gates
    %a2 = attn.slice %g2 at 0 width 8 : (!gates) -> !one
    %b2 = attn.slice %g2 at 8 width 8 : (!gates) -> !one
    %c2 = attn.mul %a2, %b2 : !one
    %next2 = attn.add %c2, %state2 : !one
    attn.yield %next2, %next, %next2 : !one, !one, !one
  }
  return %y : !source
}

// CHECK-LABEL: @yields_what_a_linear_inside_of_the_cell_reads
func.func @yields_what_a_linear_inside_of_the_cell_reads(%x: !source, %h: !one) -> !source {
  // CHECK: %{{.*}}:2 = attn.fused
  // CHECK: %[[RESET:.*]] = attn.mul
  // CHECK: attn.linear %[[RESET]]
  // CHECK: %[[NEXT:.*]] = attn.add
  // CHECK: attn.yield %[[RESET]], %[[NEXT]]
  %y, %last = attn.recurrence over (%x) init (%h) : (!source, !one) -> (!source, !one) {
  ^bb0(%now: !one, %state: !one):
    %w = attn.get_weight @w : tensor<16x8xf32>
    %v = attn.get_weight @v : tensor<8x8xf32>
    %g = attn.linear %state, %w : (!one, tensor<16x8xf32>) -> !gates
    %r = attn.slice %g at 0 width 8 : (!gates) -> !one
    %z = attn.slice %g at 8 width 8 : (!gates) -> !one
    %reset = attn.mul %r, %state : !one
    %c = attn.linear %reset, %v : (!one, tensor<8x8xf32>) -> !one
    %next = attn.add %c, %z : !one
    attn.yield %next, %next : !one, !one
  }
  return %y : !source
}

// CHECK-LABEL: @leaves_gates_alone_that_read_no_state
func.func @leaves_gates_alone_that_read_no_state(%x: !one) -> !one {
  // CHECK-NOT: attn.fused
  // CHECK: return
  %w = attn.get_weight @w : tensor<16x8xf32>
  %g = attn.linear %x, %w : (!one, tensor<16x8xf32>) -> !gates
  %a = attn.slice %g at 0 width 8 : (!gates) -> !one
  %b = attn.slice %g at 8 width 8 : (!gates) -> !one
  %gated = attn.mul %a, %b : !one
  return %gated : !one
}
