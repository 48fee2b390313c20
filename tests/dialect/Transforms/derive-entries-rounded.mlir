// RUN: attnc-opt %s | attnc-opt | FileCheck %s --check-prefix=KEPT
// RUN: attnc-opt --attn-derive-entries %s | FileCheck %s

// Products that may be rounded are where all positions are known; steps, and prompts, whose caches steps go on from,
// multiply in float32. The second layer makes a prompt attend in the first.
!ids = tensor<?x?xi32, #attn.axes<batch, target>>
!target = tensor<?x?x8xf32, #attn.axes<batch, target, width>>
!heads = tensor<?x2x?x4xf32, #attn.axes<batch, head, target, width>>
!scores = tensor<?x2x?x?xf32, #attn.axes<batch, head, target, target>>
attn.weight @table from ["t"] : tensor<9x8xf32>

// CHECK-LABEL: func.func @prefill(
// CHECK-NOT: rounded
// CHECK: attn.matmul %{{.*}}, %{{.*}} transposed :
// CHECK-NOT: rounded
// CHECK-LABEL: func.func @step(
// CHECK-NOT: rounded
// CHECK: attn.matmul %{{.*}}, %{{.*}} transposed :
// CHECK-NOT: rounded
// CHECK-LABEL: func.func @score(
// CHECK: attn.matmul %{{.*}}, %{{.*}} transposed rounded :
// CHECK: attn.matmul %{{.*}}, %{{.*}} rounded :

// KEPT-LABEL: func.func @decode(
// KEPT: attn.matmul %{{.*}}, %{{.*}} transposed rounded : (
// KEPT: attn.matmul %{{.*}}, %{{.*}} rounded : (
func.func @decode(%ids: !ids) -> tensor<?x?x9xf32, #attn.axes<batch, target, width>> {
  %table = attn.get_weight @table : tensor<9x8xf32>
  %x = attn.embed %ids, %table : (!ids, tensor<9x8xf32>) -> !target
  %h = attn.split_heads %x into 2 : (!target) -> !heads
  %s = attn.matmul %h, %h transposed rounded : (!heads, !heads) -> !scores
  %t = attn.causal_mask %s : !scores
  %w = attn.softmax %t : !scores
  %c = attn.matmul %w, %h rounded : (!scores, !heads) -> !heads
  %s2 = attn.matmul %c, %c transposed rounded : (!heads, !heads) -> !scores
  %t2 = attn.causal_mask %s2 : !scores
  %w2 = attn.softmax %t2 : !scores
  %c2 = attn.matmul %w2, %c rounded : (!scores, !heads) -> !heads
  %m = attn.merge_heads %c2 : (!heads) -> !target
  %logits = attn.linear %m, %table : (!target, tensor<9x8xf32>) -> tensor<?x?x9xf32, #attn.axes<batch, target, width>>
  return %logits : tensor<?x?x9xf32, #attn.axes<batch, target, width>>
}
