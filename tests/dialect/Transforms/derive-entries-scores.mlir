// RUN: attnc-opt --attn-derive-entries %s | FileCheck %s

// Score maps, windows and rotary positions of a decoder count from each row's position in the step; keys are
// turned before they are kept. Additive scores take their source's keys from the states.

!ids = tensor<?x?xi32, #attn.axes<batch, target>>
!lengths = tensor<?xi32, #attn.axes<batch>>
!memory = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!target = tensor<?x?x8xf32, #attn.axes<batch, target, width>>
!heads = tensor<?x2x?x4xf32, #attn.axes<batch, head, target, width>>
!source = tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>
!scores = tensor<?x2x?x?xf32, #attn.axes<batch, head, target, target>>
!cross = tensor<?x2x?x?xf32, #attn.axes<batch, head, target, source>>
attn.weight @table from ["t"] : tensor<9x8xf32>
attn.weight @angles sinusoid <interleaved = false, inclusive = false, start = 0, base = 500> : tensor<64x4xf32>
attn.weight @slopes from ["s"] : tensor<2xf32>
attn.weight @mix from ["v"] : tensor<4xf32>

func.func @encode(%x: !memory, %lengths: !lengths) -> !memory {
  return %x : !memory
}

// CHECK-DAG: attn.state @keys_0 : tensor<?x?x2x4xf32, #attn.axes<slot, capacity, head, width>>
// CHECK-DAG: attn.state @cross_keys_0 : tensor<?x?x8xf32, #attn.axes<batch, source, width>>

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[IDS:.*]]: tensor<?x1xi32, #attn.axes<row, query>> {attn.name = "ids"}
// CHECK-SAME: %[[POSITIONS:.*]]: tensor<?xi32, #attn.axes<row>> {attn.name = "positions"}
// CHECK: %[[QUERY:.*]] = attn.rotary {{.*}} from %[[POSITIONS]] interleaved
// CHECK: %[[KEY:.*]] = attn.rotary {{.*}} from %[[POSITIONS]]
// CHECK: attn.append %[[KEY]], {{.*}} at %[[POSITIONS]]
// CHECK: %[[PRODUCTS:.*]] = attn.matmul %[[QUERY]]
// CHECK: attn.score_map %[[PRODUCTS]] from %[[POSITIONS]] with(
// CHECK: attn.window_mask {{.*}} from %[[POSITIONS]] before 3 after 0
// CHECK: %[[TAKEN:.*]] = attn.take
// CHECK: %[[ADDED:.*]] = attn.additive_scores {{.*}}, %[[TAKEN]] by
// The key alone needs no start.
// CHECK: attn.score_map %[[ADDED]] :
func.func @decode(%ids: !ids, %memory: !memory, %lengths: !lengths) -> !target {
  %table = attn.get_weight @table : tensor<9x8xf32>
  %angles = attn.get_weight @angles : tensor<64x4xf32>
  %slopes = attn.get_weight @slopes : tensor<2xf32>
  %mix = attn.get_weight @mix : tensor<4xf32>
  %x = attn.embed %ids, %table : (!ids, tensor<9x8xf32>) -> !target
  %h = attn.split_heads %x into 2 : (!target) -> !heads
  %q = attn.rotary %h, %angles interleaved : (!heads, tensor<64x4xf32>) -> !heads
  %k = attn.rotary %h, %angles : (!heads, tensor<64x4xf32>) -> !heads
  %s = attn.matmul %q, %k transposed : (!heads, !heads) -> !scores
  %m = attn.score_map %s with (%slopes) : (!scores, tensor<2xf32>) -> !scores {
  ^bb0(%score: f32, %b: i32, %head: i32, %query: i32, %key: i32, %slope: tensor<2xf32>):
    %own = attn.element %slope[%head] : tensor<2xf32>
    %after = arith.subi %key, %query : i32
    %distance = arith.sitofp %after : i32 to f32
    %bias = arith.mulf %own, %distance : f32
    %sum = arith.addf %score, %bias : f32
    attn.yield %sum : f32
  }
  %n = attn.window_mask %m before 3 after 0 : (!scores) -> !scores
  %w = attn.softmax %n : !scores
  %c = attn.matmul %w, %h : (!scores, !heads) -> !heads
  %source = attn.split_heads %memory into 2 : (!memory) -> !source
  %t = attn.additive_scores %c, %source by %mix : (!heads, !source, tensor<4xf32>) -> !cross
  %u = attn.score_map %t : (!cross) -> !cross {
  ^bb0(%score: f32, %b: i32, %head: i32, %query: i32, %key: i32):
    %place = arith.sitofp %key : i32 to f32
    %sum = arith.subf %score, %place : f32
    attn.yield %sum : f32
  }
  %v = attn.softmax %u : !cross
  %d = attn.matmul %v, %source : (!cross, !source) -> !heads
  %result = attn.merge_heads %d : (!heads) -> !target
  return %result : !target
}
