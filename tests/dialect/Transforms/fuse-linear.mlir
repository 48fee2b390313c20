// RUN: attnc-opt --attn-fuse-linear -verify-diagnostics %s | FileCheck %s

!x = tensor<?x?x8xf32, #attn.axes<batch, source, width>>

// CHECK-LABEL: @ends_with_a_norm(
// CHECK-SAME: %[[X:.*]]: tensor{{.*}}, %[[W:.*]]: tensor{{.*}}, %[[G:.*]]: tensor
func.func @ends_with_a_norm(%x: !x, %w: tensor<8x8xf32>, %g: tensor<8xf32>) -> !x {
  // CHECK-NEXT: %[[BOTH:.*]]:2 = attn.fused(%[[X]], %[[W]], %[[G]])
  // CHECK: attn.linear
  // CHECK-NEXT: %[[SUM:.*]] = attn.add
  // CHECK-NEXT: %[[NORM:.*]] = attn.layer_norm
  // CHECK-NEXT: attn.yield %[[SUM]], %[[NORM]]
  // CHECK: return %[[BOTH]]#1
  // expected-remark @below {{fused: matmul with epilogue of linear, add, layer_norm; 32 * batch * source bytes less to write}}
  %0 = attn.linear %x, %w : (!x, tensor<8x8xf32>) -> !x
  %1 = attn.add %x, %0 : !x
  %2 = attn.layer_norm %1, %g epsilon 1.0e-5 : (!x, tensor<8xf32>) -> !x
  return %2 : !x
}

// A pre-norm block reads the sum again, after the norm.
// CHECK-LABEL: @yields_a_residual_that_is_read_later(
func.func @yields_a_residual_that_is_read_later(%x: !x, %w: tensor<8x8xf32>, %g: tensor<8xf32>) -> !x {
  // CHECK-NEXT: %[[A:.*]]:2 = attn.fused
  // CHECK: attn.rms_norm
  // CHECK: attn.fused(%[[A]]#1, %{{.*}}, %[[A]]#0)
  // expected-remark @below {{fused: matmul with epilogue of linear, add, rms_norm}}
  %0 = attn.linear %x, %w : (!x, tensor<8x8xf32>) -> !x
  %1 = attn.add %0, %x : !x
  %2 = attn.rms_norm %1, %g epsilon 1.0e-5 : (!x, tensor<8xf32>) -> !x
  // expected-remark @below {{fused: matmul with epilogue of linear, activation, add}}
  %3 = attn.linear %2, %w : (!x, tensor<8x8xf32>) -> !x
  %4 = attn.activation gelu %3 : !x
  %5 = attn.add %4, %1 : !x
  return %5 : !x
}

// CHECK-LABEL: @gates_with_the_other_linear(
func.func @gates_with_the_other_linear(%x: !x, %w: tensor<8x8xf32>, %u: tensor<8x8xf32>) -> !x {
  // CHECK-NEXT: attn.fused
  // CHECK: attn.linear
  // CHECK-NEXT: attn.activation silu
  // CHECK-NEXT: attn.linear
  // CHECK-NEXT: attn.mul
  // CHECK-NEXT: attn.yield
  // CHECK-NOT: attn.fused
  // CHECK: return
  // expected-remark @below {{fused: gated matmul with epilogue of linear, activation, linear, mul}}
  %gate = attn.linear %x, %w : (!x, tensor<8x8xf32>) -> !x
  %up = attn.linear %x, %u : (!x, tensor<8x8xf32>) -> !x
  %open = attn.activation silu %gate : !x
  %y = attn.mul %open, %up : !x
  return %y : !x
}

// CHECK-LABEL: @keeps_a_result_before_its_reader(
func.func @keeps_a_result_before_its_reader(%x: !x, %w: tensor<8x8xf32>, %g: tensor<8xf32>) -> (!x, !x) {
  // The sum is read before the norm could be computed, so the norm stays outside.
  // CHECK-NEXT: %[[SUM:.*]] = attn.fused
  // CHECK: attn.add
  // CHECK-NEXT: attn.yield
  // CHECK: attn.activation tanh %[[SUM]]
  // CHECK-NEXT: attn.layer_norm %[[SUM]]
  // expected-remark @below {{fused: matmul with epilogue of linear, add}}
  %0 = attn.linear %x, %w : (!x, tensor<8x8xf32>) -> !x
  %1 = attn.add %0, %x : !x
  %2 = attn.activation tanh %1 : !x
  %3 = attn.layer_norm %1, %g epsilon 1.0e-5 : (!x, tensor<8xf32>) -> !x
  return %2, %3 : !x, !x
}

// The gate may come second; what it lets through goes no further than the product.
// CHECK-LABEL: @finds_the_gate_on_either_side(
func.func @finds_the_gate_on_either_side(%x: !x, %w: tensor<8x8xf32>, %u: tensor<8x8xf32>, %g: tensor<8xf32>) -> !x {
  // CHECK-NEXT: %[[PRODUCT:.*]] = attn.fused
  // CHECK: attn.mul
  // CHECK-NEXT: attn.yield
  // CHECK: attn.rms_norm %[[PRODUCT]]
  // expected-remark @below {{fused: gated matmul with epilogue of linear, linear, activation, mul}}
  %up = attn.linear %x, %u : (!x, tensor<8x8xf32>) -> !x
  %gate = attn.linear %x, %w : (!x, tensor<8x8xf32>) -> !x
  %open = attn.activation gelu %gate : !x
  %y = attn.mul %up, %open : !x
  %n = attn.rms_norm %y, %g epsilon 1.0e-5 : (!x, tensor<8xf32>) -> !x
  return %n : !x
}

// CHECK-LABEL: @keeps_a_gate_with_another_reader(
func.func @keeps_a_gate_with_another_reader(%x: !x, %w: tensor<8x8xf32>, %u: tensor<8x8xf32>) -> (!x, !x) {
  // CHECK: attn.fused
  // CHECK: attn.fused
  %up = attn.linear %x, %u : (!x, tensor<8x8xf32>) -> !x
  // expected-remark @below {{fused: matmul with epilogue of linear, mul}}
  %gate = attn.linear %x, %w : (!x, tensor<8x8xf32>) -> !x
  %y = attn.mul %up, %gate : !x
  return %y, %up : !x, !x
}
