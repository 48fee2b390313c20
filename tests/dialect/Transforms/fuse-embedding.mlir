// RUN: attnc-opt --attn-fuse-embedding -verify-diagnostics %s | FileCheck %s

!ids = tensor<?x?xi32, #attn.axes<batch, source>>
!x = tensor<?x?x8xf32, #attn.axes<batch, source, width>>

// CHECK-LABEL: @fuses_positions_and_norm(
func.func @fuses_positions_and_norm(%ids: !ids, %t: tensor<51x8xf32>, %p: tensor<128x8xf32>, %g: tensor<8xf32>) -> !x {
  // The norm's input is yielded though nobody reads it: the kernel needs no scratch for it.
  // CHECK-NEXT: %[[BOTH:.*]]:2 = attn.fused
  // CHECK: attn.embed
  // CHECK-NEXT: attn.scale
  // CHECK-NEXT: %[[SUM:.*]] = attn.add_positions
  // CHECK-NEXT: %[[NORM:.*]] = attn.rms_norm
  // CHECK-NEXT: attn.yield %[[SUM]], %[[NORM]]
  // CHECK: return %[[BOTH]]#1
  // expected-remark @below {{fused: embedding of embed, scale, add_positions, rms_norm}}
  %e = attn.embed %ids, %t : (!ids, tensor<51x8xf32>) -> !x
  %s = attn.scale %e by 3.0 : !x
  %a = attn.add_positions %s, %p : (!x, tensor<128x8xf32>) -> !x
  %n = attn.rms_norm %a, %g epsilon 1.0e-6 : (!x, tensor<8xf32>) -> !x
  return %n : !x
}

// CHECK-LABEL: @stops_at_a_value_with_two_readers(
func.func @stops_at_a_value_with_two_readers(%ids: !ids, %t: tensor<51x8xf32>) -> (!x, !x) {
  // CHECK-NEXT: attn.fused
  // CHECK: attn.embed
  // CHECK-NEXT: attn.yield
  // CHECK: attn.scale
  %e = attn.embed %ids, %t : (!ids, tensor<51x8xf32>) -> !x
  %s = attn.scale %e by 3.0 : !x
  return %s, %e : !x, !x
}

// CHECK-LABEL: @adds_the_embedding_of_token_types(
func.func @adds_the_embedding_of_token_types(%ids: !ids, %types: !ids, %t: tensor<51x8xf32>, %k: tensor<2x8xf32>) -> !x {
  // CHECK-NEXT: attn.fused
  // CHECK: attn.embed
  // CHECK-NEXT: attn.embed
  // CHECK-NEXT: attn.add
  // CHECK-NEXT: attn.yield
  // expected-remark @below {{fused: embedding of embed, embed, add}}
  %e = attn.embed %ids, %t : (!ids, tensor<51x8xf32>) -> !x
  %f = attn.embed %types, %k : (!ids, tensor<2x8xf32>) -> !x
  %s = attn.add %e, %f : !x
  return %s : !x
}
