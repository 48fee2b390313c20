// RUN: attnc-opt --attn-pack-matrices -split-input-file %s | FileCheck %s

!ids = tensor<?x?xi32, #attn.axes<batch, target>>
!x = tensor<?x?x8xf32, #attn.axes<batch, target, width>>
!logits = tensor<?x?x43xf32, #attn.axes<batch, target, width>>

// CHECK: attn.weight @tied from ["t"] : tensor<43x8xf32, #attn.panels<32>>
attn.weight @tied from ["t"] : tensor<43x8xf32>
// CHECK: attn.weight @only_embedded from ["e"] : tensor<43x8xf32>{{$}}
attn.weight @only_embedded from ["e"] : tensor<43x8xf32>
// CHECK: attn.weight @bias from ["b"] : tensor<43xf32>{{$}}
attn.weight @bias from ["b"] : tensor<43xf32>

// CHECK-LABEL: @packs_what_a_linear_reads(
func.func @packs_what_a_linear_reads(%x: !x) -> !logits {
  // CHECK: %[[W:.*]] = attn.get_weight @tied : tensor<43x8xf32, #attn.panels<32>>
  // CHECK: attn.fused({{.*}}%[[W]]
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor{{.*}}, %[[INSIDE:.*]]: tensor<43x8xf32, #attn.panels<32>>
  // CHECK-NEXT: attn.linear %{{.*}}, %[[INSIDE]]
  %w = attn.get_weight @tied : tensor<43x8xf32>
  %b = attn.get_weight @bias : tensor<43xf32>
  %y = attn.fused(%x, %w, %b) : (!x, tensor<43x8xf32>, tensor<43xf32>) -> !logits {
  ^bb0(%in: !x, %weight: tensor<43x8xf32>, %bias: tensor<43xf32>):
    %0 = attn.linear %in, %weight bias %bias : (!x, tensor<43x8xf32>, tensor<43xf32>) -> !logits
    attn.yield %0 : !logits
  }
  return %y : !logits
}

// CHECK-LABEL: @reads_panels_of_a_tied_table(
func.func @reads_panels_of_a_tied_table(%ids: !ids) -> (!x, !x) {
  // CHECK: %[[W:.*]] = attn.get_weight @tied : tensor<43x8xf32, #attn.panels<32>>
  // CHECK: attn.embed %{{.*}}, %[[W]]
  // CHECK: attn.embed {{.*}}, tensor<43x8xf32>)
  %t = attn.get_weight @tied : tensor<43x8xf32>
  %e = attn.get_weight @only_embedded : tensor<43x8xf32>
  %x = attn.embed %ids, %t : (!ids, tensor<43x8xf32>) -> !x
  %y = attn.embed %ids, %e : (!ids, tensor<43x8xf32>) -> !x
  return %x, %y : !x, !x
}

// -----

// CHECK: attn.weight @seen from ["s"] : tensor<43x8xf32>{{$}}
attn.weight @seen from ["s"] : tensor<43x8xf32>
!x = tensor<?x?x8xf32, #attn.axes<batch, target, width>>
!logits = tensor<?x?x43xf32, #attn.axes<batch, target, width>>

// CHECK-LABEL: @leaves_dense_what_is_read_as_rows_too(
func.func @leaves_dense_what_is_read_as_rows_too(%x: !x) -> (!logits, tensor<43x4xf32>) {
  %w = attn.get_weight @seen : tensor<43x8xf32>
  %y = attn.fused(%x, %w) : (!x, tensor<43x8xf32>) -> !logits {
  ^bb0(%in: !x, %weight: tensor<43x8xf32>):
    // CHECK: attn.linear {{.*}}, tensor<43x8xf32>)
    %0 = attn.linear %in, %weight : (!x, tensor<43x8xf32>) -> !logits
    attn.yield %0 : !logits
  }
  %part = attn.slice %w at 0 width 4 : (tensor<43x8xf32>) -> tensor<43x4xf32>
  return %y, %part : !logits, tensor<43x4xf32>
}
