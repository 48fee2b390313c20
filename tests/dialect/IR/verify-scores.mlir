// RUN: attnc-opt -verify-diagnostics -split-input-file %s

!heads = tensor<1x2x3x4xf32>
func.func @additive_scores_c1_other_heads(%q: !heads, %k: tensor<1x3x5x4xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{the number of heads on the left is 2, which the number of heads on the right (3) does not divide}}
  %s = attn.additive_scores %q, %k by %w : (!heads, tensor<1x3x5x4xf32>, tensor<4xf32>) -> tensor<1x2x3x5xf32>
  return
}

// -----

func.func @additive_scores_c2_other_width(%q: tensor<1x2x3x4xf32>, %w: tensor<5xf32>) {
  // expected-error @below {{the weight's width is 5, but the queries' width is 4}}
  %s = attn.additive_scores %q, %q by %w : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<5xf32>) -> tensor<1x2x3x3xf32>
  return
}

// -----

func.func @additive_scores_c3_other_rows(%q: tensor<1x2x3x4xf32>, %w: tensor<3x4xf32>) {
  // expected-error @below {{the weight's number of rows is 3, but the number of heads is 2}}
  %s = attn.additive_scores %q, %q by %w : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<3x4xf32>) -> tensor<1x2x3x3xf32>
  return
}

// -----

func.func @grouped_heads_share_keys(%q: tensor<1x4x3x4xf32>, %k: tensor<1x2x5x4xf32>) {
  %s = attn.matmul %q, %k transposed : (tensor<1x4x3x4xf32>, tensor<1x2x5x4xf32>) -> tensor<1x4x3x5xf32>
  return
}

// -----

func.func @score_map_c1_other_starts(%s: tensor<1x2x3x4xf32>, %starts: tensor<2xi32>) {
  // expected-error @below {{the number of starts is 2, but the scores' batch axis is 1}}
  %m = attn.score_map %s from %starts : (tensor<1x2x3x4xf32>, tensor<2xi32>) -> tensor<1x2x3x4xf32> {
  ^bb0(%score: f32, %b: i32, %h: i32, %q: i32, %k: i32):
    attn.yield %score : f32
  }
  return
}

// -----

func.func @score_map_c2_no_indices(%s: tensor<1x2x3x4xf32>) {
  // expected-error @below {{needs a body with a score, batch, head, query, key and the tables as arguments}}
  %m = attn.score_map %s : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32> {
  ^bb0(%score: f32):
    attn.yield %score : f32
  }
  return
}

// -----

func.func @score_map_c3_tensor_inside(%s: tensor<1x2x3x4xf32>, %t: tensor<2xf32>) {
  %m = attn.score_map %s with (%t) : (tensor<1x2x3x4xf32>, tensor<2xf32>) -> tensor<1x2x3x4xf32> {
  ^bb0(%score: f32, %b: i32, %h: i32, %q: i32, %k: i32, %table: tensor<2xf32>):
    // expected-error @below {{is not a scalar operation of a score map}}
    %sum = attn.add %table, %table : tensor<2xf32>
    attn.yield %score : f32
  }
  return
}

// -----

func.func @score_map_c4_slope_for_other_heads(%s: tensor<1x2x3x4xf32>, %t: tensor<3xf32>) {
  %m = attn.score_map %s with (%t) : (tensor<1x2x3x4xf32>, tensor<3xf32>) -> tensor<1x2x3x4xf32> {
  ^bb0(%score: f32, %b: i32, %h: i32, %q: i32, %k: i32, %table: tensor<3xf32>):
    // expected-error @below {{an axis of a table is 3, but the scores' axis that indexes it is 2}}
    %slope = attn.element %table[%h] : tensor<3xf32>
    attn.yield %slope : f32
  }
  return
}

// -----

func.func @element_c1_one_index(%s: tensor<1x2x3x4xf32>, %t: tensor<2x3xf32>) {
  %m = attn.score_map %s with (%t) : (tensor<1x2x3x4xf32>, tensor<2x3xf32>) -> tensor<1x2x3x4xf32> {
  ^bb0(%score: f32, %b: i32, %h: i32, %q: i32, %k: i32, %table: tensor<2x3xf32>):
    // expected-error @below {{has 1 indices for a table of 2 axes}}
    %slope = attn.element %table[%h] : tensor<2x3xf32>
    attn.yield %slope : f32
  }
  return
}

// -----

func.func @window_mask_c1_no_side(%s: tensor<1x2x3x4xf32>) {
  // expected-error @below {{needs 'before' or 'after', both in 0 to 1073741824}}
  %m = attn.window_mask %s : (tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @window_mask_c2_other_starts(%s: tensor<1x2x3x4xf32>, %starts: tensor<2xi32>) {
  // expected-error @below {{the number of starts is 2, but the scores' batch axis is 1}}
  %m = attn.window_mask %s from %starts before 1 : (tensor<1x2x3x4xf32>, tensor<2xi32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @prefix_mask_c1_other_batch(%s: tensor<1x2x3x4xf32>, %lengths: tensor<2xi32>) {
  // expected-error @below {{the number of lengths is 2, but the scores' batch axis is 1}}
  %m = attn.prefix_mask %s, %lengths : (tensor<1x2x3x4xf32>, tensor<2xi32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @rotary_c1_odd_width(%x: tensor<1x2x3x4xf32>, %t: tensor<8x3xf32>) {
  // expected-error @below {{turns 3 columns of 4, but needs an even number of at most all}}
  %y = attn.rotary %x, %t : (tensor<1x2x3x4xf32>, tensor<8x3xf32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @rotary_c2_other_starts(%x: tensor<1x2x3x4xf32>, %t: tensor<8x4xf32>, %starts: tensor<2xi32>) {
  // expected-error @below {{the number of starts is 2, but the input's batch axis is 1}}
  %y = attn.rotary %x, %t from %starts : (tensor<1x2x3x4xf32>, tensor<8x4xf32>, tensor<2xi32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @l2_norm_c1_no_epsilon(%x: tensor<3x4xf32>) {
  // expected-error @below {{'epsilon' is 0.000000e+00, but must be positive}}
  %y = attn.l2_norm %x epsilon 0.0 : tensor<3x4xf32>
  return
}
