// RUN: attnc-opt --attn-fuse-remaining -verify-diagnostics %s | FileCheck %s

!x = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!heads = tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>
attn.state @state : !x

// CHECK-LABEL: @makes_one_region_of_a_pointwise_chain(
func.func @makes_one_region_of_a_pointwise_chain(%x: !x, %y: !x) -> !x {
  // CHECK-NEXT: %[[R:.*]] = attn.fused
  // CHECK: attn.activation
  // CHECK-NEXT: attn.scale
  // CHECK-NEXT: attn.mul
  // CHECK-NEXT: attn.yield
  // CHECK: return %[[R]]
  // expected-remark @below {{fused: pointwise of activation, scale, mul; 64 * batch * source bytes less to write}}
  %0 = attn.activation relu %x : !x
  %1 = attn.scale %0 by 2.0 : !x
  %2 = attn.mul %1, %y : !x
  return %2 : !x
}

// CHECK-LABEL: @makes_a_region_of_each_other_operation(
func.func @makes_a_region_of_each_other_operation(%x: !x, %g: tensor<8xf32>) -> !x {
  // CHECK: attn.fused
  // CHECK: attn.layer_norm
  // CHECK-NEXT: attn.yield
  // CHECK: attn.fused
  // CHECK: attn.activation
  %0 = attn.layer_norm %x, %g epsilon 1.0e-5 : (!x, tensor<8xf32>) -> !x
  // expected-remark @below {{not fused: a kernel ends with its layer_norm}}
  %1 = attn.activation relu %0 : !x
  return %1 : !x
}

// CHECK-LABEL: @leaves_views_weights_and_states(
func.func @leaves_views_weights_and_states() -> !heads {
  // CHECK-NOT: attn.fused
  %0 = attn.read_state @state : !x
  %1 = attn.split_heads %0 into 2 : (!x) -> !heads
  return %1 : !heads
}

// CHECK-LABEL: @erases_what_nobody_reads(
func.func @erases_what_nobody_reads(%x: !x) -> !x {
  // CHECK-NEXT: return
  %0 = attn.activation relu %x : !x
  return %x : !x
}
