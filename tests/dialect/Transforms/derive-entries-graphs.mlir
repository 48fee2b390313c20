// RUN: attnc-opt --attn-derive-entries -split-input-file %s | FileCheck %s

// CHECK-LABEL: func.func @leaves_graphs_alone(
// CHECK-SAME: attn.graph
// CHECK-NEXT: attn.scale
func.func @leaves_graphs_alone(%x: tensor<2x8xf32>) -> tensor<2x8xf32> attributes {attn.graph} {
  %y = attn.scale %x by 2.0 : tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

// A graph may be called as an entry of a model.
// CHECK-LABEL: func.func @decode(
// CHECK-NEXT: attn.add
// CHECK: func.func @predict(
// CHECK-NEXT: attn.add
// CHECK-NOT: func.func
func.func @decode(%x: tensor<2x8xf32>, %y: tensor<2x8xf32>) -> tensor<2x8xf32> attributes {attn.graph} {
  %z = attn.add %x, %y : tensor<2x8xf32>
  return %z : tensor<2x8xf32>
}
func.func @predict(%x: tensor<2x8xf32>, %rows: tensor<2x8xf32> {attn.name = "rows"}) -> (tensor<2x8xf32> {attn.name = "logits"}) attributes {attn.graph} {
  %z = attn.add %x, %rows : tensor<2x8xf32>
  return %z : tensor<2x8xf32>
}
