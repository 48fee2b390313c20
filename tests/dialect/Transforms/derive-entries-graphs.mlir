// RUN: attnc-opt --attn-derive-entries %s | FileCheck %s

// CHECK-LABEL: func.func @leaves_graphs_alone(
// CHECK-SAME: attn.graph
// CHECK-NEXT: attn.scale
func.func @leaves_graphs_alone(%x: tensor<2x8xf32>) -> tensor<2x8xf32> attributes {attn.graph} {
  %y = attn.scale %x by 2.0 : tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}
