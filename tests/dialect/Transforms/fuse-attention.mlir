// RUN: attnc-opt --attn-fuse-attention -verify-diagnostics %s | FileCheck %s

!heads = tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>
!scores = tensor<?x2x?x?xf32, #attn.axes<batch, head, source, source>>
!lengths = tensor<?xi32, #attn.axes<batch>>

// CHECK-LABEL: @fuses_the_chain(
// CHECK-SAME: %[[Q:.*]]: tensor{{.*}}, %[[K:.*]]: tensor{{.*}}, %[[V:.*]]: tensor{{.*}}, %[[L:.*]]: tensor
func.func @fuses_the_chain(%q: !heads, %k: !heads, %v: !heads, %lengths: !lengths) -> !heads {
  // CHECK-NEXT: %[[C:.*]] = attn.fused(%[[Q]], %[[K]], %[[L]], %[[V]])
  // CHECK: attn.matmul {{.*}} transposed
  // CHECK-NEXT: attn.scale
  // CHECK-NEXT: attn.causal_mask
  // CHECK-NEXT: attn.padding_mask
  // CHECK-NEXT: attn.softmax
  // CHECK-NEXT: %[[INSIDE:.*]] = attn.matmul
  // CHECK-NEXT: attn.yield %[[INSIDE]]
  // CHECK: return %[[C]]
  // expected-remark @below {{fused: attention of matmul, scale, causal_mask, padding_mask, softmax, matmul; 40 * batch * source * source bytes less to write}}
  %s = attn.matmul %q, %k transposed : (!heads, !heads) -> !scores
  %t = attn.scale %s by 0.5 : !scores
  %m = attn.causal_mask %t : !scores
  %n = attn.padding_mask %m, %lengths : (!scores, !lengths) -> !scores
  %w = attn.softmax %n : !scores
  %c = attn.matmul %w, %v : (!scores, !heads) -> !heads
  return %c : !heads
}

// CHECK-LABEL: @takes_a_bias_from_either_side_of_an_add(
func.func @takes_a_bias_from_either_side_of_an_add(%q: !heads, %k: !heads, %v: !heads, %bias: !scores) -> !heads {
  // CHECK-NEXT: attn.fused
  // CHECK: attn.add
  // expected-remark @below {{fused: attention of matmul, add, softmax, matmul}}
  %s = attn.matmul %q, %k transposed : (!heads, !heads) -> !scores
  %t = attn.add %bias, %s : !scores
  %w = attn.softmax %t : !scores
  %c = attn.matmul %w, %v : (!scores, !heads) -> !heads
  return %c : !heads
}

// CHECK-LABEL: @fuses_additive_scores_maps_and_masks(
func.func @fuses_additive_scores_maps_and_masks(%q: !heads, %k: !heads, %v: !heads, %weight: tensor<4xf32>, %lengths: !lengths) -> !heads {
  // CHECK-NEXT: attn.fused
  // CHECK: attn.additive_scores
  // CHECK: attn.score_map
  // CHECK: attn.yield {{.*}} : f32
  // CHECK: attn.window_mask
  // CHECK: attn.prefix_mask
  // CHECK: return
  // expected-remark @below {{fused: attention of additive_scores, score_map, window_mask, prefix_mask, softmax, matmul}}
  %s = attn.additive_scores %q, %k by %weight : (!heads, !heads, tensor<4xf32>) -> !scores
  %t = attn.score_map %s : (!scores) -> !scores {
  ^bb0(%score: f32, %b: i32, %h: i32, %query: i32, %key: i32):
    %twice = arith.addf %score, %score : f32
    attn.yield %twice : f32
  }
  %m = attn.window_mask %t before 3 : (!scores) -> !scores
  %n = attn.prefix_mask %m, %lengths : (!scores, !lengths) -> !scores
  %w = attn.softmax %n : !scores
  %c = attn.matmul %w, %v : (!scores, !heads) -> !heads
  return %c : !heads
}

// CHECK-LABEL: @keeps_the_context_of_weights_with_two_readers_apart(
func.func @keeps_the_context_of_weights_with_two_readers_apart(%q: !heads, %k: !heads, %v: !heads) -> (!heads, !scores) {
  // CHECK-NEXT: %[[W:.*]] = attn.fused
  // CHECK: attn.softmax
  // CHECK-NEXT: attn.yield
  // CHECK: attn.matmul %[[W]]
  // expected-remark @below {{fused: attention of matmul, scale, softmax; 16 * batch * source * source bytes less to write}}
  %p = attn.matmul %q, %k transposed : (!heads, !heads) -> !scores
  %s = attn.scale %p by 0.5 : !scores
  // expected-remark @below {{not fused: the weights have a second reader, so they are a kernel's result, and what is made of them is another kernel}}
  %w = attn.softmax %s : !scores
  %c = attn.matmul %w, %v : (!scores, !heads) -> !heads
  return %c, %w : !heads, !scores
}

// CHECK-LABEL: @keeps_scores_with_two_readers(
func.func @keeps_scores_with_two_readers(%q: !heads, %k: !heads, %v: !heads) -> (!heads, !scores) {
  // CHECK-NOT: attn.fused
  // CHECK: return
  %s = attn.matmul %q, %k transposed : (!heads, !heads) -> !scores
  // expected-remark @below {{not fused: the scores have a second reader}}
  %w = attn.softmax %s : !scores
  %c = attn.matmul %w, %v : (!scores, !heads) -> !heads
  return %c, %s : !heads, !scores
}

// CHECK-LABEL: @keeps_softmax_of_given_scores(
func.func @keeps_softmax_of_given_scores(%s: !scores, %v: !heads) -> !heads {
  // CHECK-NOT: attn.fused
  // CHECK: return
  // expected-remark @below {{not fused: the scores do not come from queries and keys}}
  %w = attn.softmax %s : !scores
  %c = attn.matmul %w, %v : (!scores, !heads) -> !heads
  return %c : !heads
}

// CHECK-LABEL: @keeps_a_matmul_of_which_the_weights_are_the_right_side(
func.func @keeps_a_matmul_of_which_the_weights_are_the_right_side(%q: !heads, %k: !heads, %s: !scores) -> !scores {
  // CHECK-NEXT: %[[W:.*]] = attn.fused
  // CHECK: attn.softmax
  // CHECK-NEXT: attn.yield
  // CHECK: attn.matmul %{{.*}}, %[[W]]
  // expected-remark @below {{fused: attention of matmul, softmax}}
  %p = attn.matmul %q, %k transposed : (!heads, !heads) -> !scores
  %w = attn.softmax %p : !scores
  // expected-remark @below {{not fused: the weights are not its left side, or its right side is transposed}}
  %c = attn.matmul %s, %w : (!scores, !scores) -> !scores
  return %c : !scores
}

// CHECK-LABEL: @fuses_weights_alone(
func.func @fuses_weights_alone(%q: !heads, %k: !heads) -> tensor<?x?x?xf32, #attn.axes<batch, source, source>> {
  // CHECK-NEXT: attn.fused
  // CHECK: attn.softmax
  // CHECK-NEXT: attn.mean_heads
  // CHECK-NEXT: attn.yield
  // expected-remark @below {{fused: attention of matmul, softmax, mean_heads}}
  %s = attn.matmul %q, %k transposed : (!heads, !heads) -> !scores
  %w = attn.softmax %s : !scores
  %m = attn.mean_heads %w : (!scores) -> tensor<?x?x?xf32, #attn.axes<batch, source, source>>
  return %m : tensor<?x?x?xf32, #attn.axes<batch, source, source>>
}

!step = tensor<?x2x1x4xf32, #attn.axes<row, head, query, width>>
!taken = tensor<?x2x?x4xf32, #attn.axes<row, head, source, width>>
!rows = tensor<?xi32, #attn.axes<row>>
!step_scores = tensor<?x2x1x?xf32, #attn.axes<row, head, query, source>>
// CHECK-LABEL: @selects_inside(
// CHECK-SAME: %[[Q:.*]]: tensor{{.*}}, %[[K:.*]]: tensor{{.*}}, %[[V:.*]]: tensor{{.*}}, %[[R:.*]]: tensor
func.func @selects_inside(%q: !step, %k: !heads, %v: !heads, %sources: !rows) -> (!step, !taken) {
  // A selection that others read too is done twice.
  // CHECK: attn.take
  // CHECK: attn.fused(%[[K]], %[[R]], %[[Q]], %[[V]])
  // CHECK: attn.take
  // CHECK: attn.take
  // expected-remark @below {{fused: attention of take, matmul, softmax, take, matmul}}
  %keys = attn.take %k, %sources : (!heads, !rows) -> !taken
  %s = attn.matmul %q, %keys transposed : (!step, !taken) -> !step_scores
  %w = attn.softmax %s : !step_scores
  %values = attn.take %v, %sources : (!heads, !rows) -> !taken
  %c = attn.matmul %w, %values : (!step_scores, !taken) -> !step
  return %c, %keys : !step, !taken
}

// What stands around a chain makes no difference to its region: all layers of one shape are to share a kernel.
// CHECK-LABEL: @orders_by_operands(
func.func @orders_by_operands(%q: !step, %k: !heads, %v: !heads, %sources: !rows, %lengths: !lengths) -> !step {
  // CHECK: attn.fused
  // CHECK-NEXT: ^bb0(%[[K:.*]]: tensor{{.*}}, %[[R:.*]]: tensor{{.*}}, %[[Q:.*]]: tensor{{.*}}, %[[L:.*]]: tensor{{.*}}, %[[V:.*]]: tensor
  // CHECK-NEXT: attn.take %[[K]], %[[R]]
  // CHECK-NEXT: attn.matmul %[[Q]]
  // CHECK-NEXT: attn.take %[[L]], %[[R]]
  // CHECK-NEXT: attn.padding_mask
  // CHECK-NEXT: attn.softmax
  // CHECK-NEXT: attn.take %[[V]], %[[R]]
  // CHECK-NEXT: attn.matmul
  %own = attn.take %lengths, %sources : (!lengths, !rows) -> !rows
  %values = attn.take %v, %sources : (!heads, !rows) -> !taken
  // expected-remark @below {{fused: attention of take, matmul, take, padding_mask, softmax, take, matmul}}
  %keys = attn.take %k, %sources : (!heads, !rows) -> !taken
  %s = attn.matmul %q, %keys transposed : (!step, !taken) -> !step_scores
  %m = attn.padding_mask %s, %own : (!step_scores, !rows) -> !step_scores
  %w = attn.softmax %m : !step_scores
  %c = attn.matmul %w, %values : (!step_scores, !taken) -> !step
  return %c : !step
}

!wide = tensor<?x1x?x1025xf32, #attn.axes<batch, head, source, width>>
!of_wide = tensor<?x1x?x?xf32, #attn.axes<batch, head, source, source>>

// CHECK-LABEL: @leaves_wide_heads_apart(
// CHECK-NEXT: %[[W:.*]] = attn.fused
// CHECK: attn.softmax
// CHECK-NEXT: attn.yield
// CHECK: attn.matmul %[[W]]
func.func @leaves_wide_heads_apart(%q: !wide, %k: !wide, %v: !wide) -> !wide {
  // expected-remark @below {{fused: attention of matmul, softmax}}
  %s = attn.matmul %q, %k transposed : (!wide, !wide) -> !of_wide
  // expected-remark @below {{not fused: its heads are of a width that is not known or wider than 1024, and a block of them would not fit on a kernel's stack}}
  %w = attn.softmax %s : !of_wide
  %c = attn.matmul %w, %v : (!of_wide, !wide) -> !wide
  return %c : !wide
}

!turned = tensor<?x2x4x?xf32, #attn.axes<batch, head, width, source>>

// CHECK-LABEL: @leaves_turned_keys_apart(
// CHECK-NEXT: %[[W:.*]] = attn.fused
// CHECK: attn.softmax
// CHECK-NEXT: attn.yield
// CHECK: attn.matmul %[[W]]
func.func @leaves_turned_keys_apart(%q: !heads, %k: !turned, %v: !heads) -> !heads {
  // expected-remark @below {{fused: attention of matmul, softmax}}
  %s = attn.matmul %q, %k : (!heads, !turned) -> !scores
  // expected-remark @below {{not fused: its keys lie as width x key}}
  %w = attn.softmax %s : !scores
  %c = attn.matmul %w, %v : (!scores, !heads) -> !heads
  return %c : !heads
}
