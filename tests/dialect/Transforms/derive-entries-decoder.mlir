// RUN: attnc-opt --attn-derive-entries %s | FileCheck %s

// A decoder without a source begins with its prompt: one pass over all of it fills the caches, steps go on from there.
!ids = tensor<?x?xi32, #attn.axes<batch, target>>
!target = tensor<?x?x8xf32, #attn.axes<batch, target, width>>
!heads = tensor<?x2x?x4xf32, #attn.axes<batch, head, target, width>>
!scores = tensor<?x2x?x?xf32, #attn.axes<batch, head, target, target>>
attn.weight @table from ["t"] : tensor<9x8xf32>
attn.weight @positions from ["p"] : tensor<32x8xf32>

// CHECK-DAG: attn.state @keys_0
// CHECK-DAG: attn.state @values_0

// CHECK-LABEL: func.func @prefill(
// CHECK-SAME: %[[IDS:.*]]: tensor<?x?xi32, #attn.axes<batch, source>> {attn.name = "source_ids"}
// CHECK-SAME: %[[STARTS:.*]]: tensor<?xi32, #attn.axes<batch>> {attn.name = "positions"}
// CHECK-SAME: ) {
// CHECK: attn.add_positions
// CHECK-NOT: from
// CHECK: %[[KEYS:.*]] = attn.read_state @keys_0
// CHECK: attn.append %{{.*}}, %[[KEYS]] at %[[STARTS]] :
// CHECK: %[[VALUES:.*]] = attn.read_state @values_0
// CHECK: attn.append %{{.*}}, %[[VALUES]] at %[[STARTS]] :
// What comes after the last layer's keys and values is for nobody.
// CHECK-NOT: attn.softmax
// CHECK-NOT: attn.linear
// CHECK: return{{$}}

// CHECK-LABEL: func.func @step(
// CHECK-SAME: {attn.name = "ids"}
// CHECK-SAME: {attn.name = "positions"}
// CHECK-SAME: {attn.name = "ancestors"}
// CHECK-NOT: {attn.name = "source_lengths"}
// CHECK: attn.lookup

// CHECK-LABEL: func.func @score(
// CHECK-SAME: {attn.name = "target_ids"}
// CHECK-SAME: {attn.name = "labels"}
// CHECK: attn.causal_mask
// CHECK: attn.pick

// CHECK-NOT: func.func @attend
func.func @decode(%ids: !ids) -> tensor<?x?x9xf32, #attn.axes<batch, target, width>> {
  %table = attn.get_weight @table : tensor<9x8xf32>
  %positions = attn.get_weight @positions : tensor<32x8xf32>
  %e = attn.embed %ids, %table : (!ids, tensor<9x8xf32>) -> !target
  %x = attn.add_positions %e, %positions : (!target, tensor<32x8xf32>) -> !target
  %h = attn.split_heads %x into 2 : (!target) -> !heads
  %s = attn.matmul %h, %h transposed : (!heads, !heads) -> !scores
  %t = attn.causal_mask %s : !scores
  %w = attn.softmax %t : !scores
  %c = attn.matmul %w, %h : (!scores, !heads) -> !heads
  %m = attn.merge_heads %c : (!heads) -> !target
  %logits = attn.linear %m, %table : (!target, tensor<9x8xf32>) -> tensor<?x?x9xf32, #attn.axes<batch, target, width>>
  return %logits : tensor<?x?x9xf32, #attn.axes<batch, target, width>>
}
