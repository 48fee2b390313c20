// RUN: attnc-opt -verify-diagnostics -split-input-file %s

func.func @split_heads_c1_no_query_axis(%x: tensor<3x8xf32>) {
  // expected-error @below {{needs an input with the axes batch, query, width, but it has rank 2}}
  %y = attn.split_heads %x into 2 : (tensor<3x8xf32>) -> tensor<3x2x8x4xf32>
  return
}

// -----

func.func @split_heads_c2_indivisible_width(%x: tensor<1x3x8xf32>) {
  // expected-error @below {{the width is 8, which 'heads' (3) does not divide}}
  %y = attn.split_heads %x into 3 : (tensor<1x3x8xf32>) -> tensor<1x3x3x2xf32>
  return
}

// -----

func.func @split_heads_c2_no_heads(%x: tensor<1x3x8xf32>) {
  // expected-error @below {{the width is 8, which 'heads' (0) does not divide}}
  %y = attn.split_heads %x into 0 : (tensor<1x3x8xf32>) -> tensor<1x1x3x8xf32>
  return
}

// -----

func.func @merge_heads_c1_unknown_width(%x: tensor<1x2x3x?xf32>) {
  // expected-error @below {{needs known heads and width, but merges 2 heads of width ?}}
  %y = attn.merge_heads %x : (tensor<1x2x3x?xf32>) -> tensor<1x3x?xf32>
  return
}

// -----

func.func @select_c1_without_a_query_axis(%x: tensor<3x8xf32>) {
  // expected-error @below {{needs the axes batch, query and width, but has 'tensor<3x8xf32>'}}
  %y = attn.select %x at 0 : (tensor<3x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

func.func @select_c2_past_the_end(%x: tensor<1x3x8xf32>) {
  // expected-error @below {{selects position 3 of 'tensor<1x3x8xf32>'}}
  %y = attn.select %x at 3 : (tensor<1x3x8xf32>) -> tensor<1x8xf32>
  return
}

// -----

func.func @slice_c1_past_the_end(%x: tensor<1x3x8xf32>) {
  // expected-error @below {{takes 4 elements from 5 on, but the input's width is 8}}
  %y = attn.slice %x at 5 width 4 : (tensor<1x3x8xf32>) -> tensor<1x3x4xf32>
  return
}

// -----

func.func @slice_c1_overflow(%x: tensor<1x3x8xf32>) {
  // expected-error @below {{takes 9223372036854775807 elements from 1 on, but the input's width is 8}}
  %y = attn.slice %x at 1 width 9223372036854775807 : (tensor<1x3x8xf32>) -> tensor<1x3x9223372036854775807xf32>
  return
}

// -----

func.func @collapse_c1_one_axis(%x: tensor<8xf32>) {
  // expected-error @below {{needs two axes to collapse, but has 'tensor<8xf32>'}}
  %y = attn.collapse %x : (tensor<8xf32>) -> tensor<f32>
  return
}

// -----

func.func @expand_c1_other_extent(%x: tensor<6x8xf32>) {
  // expected-error @below {{gives 'tensor<2x4x8xf32>', which does not collapse to 'tensor<6x8xf32>'}}
  %y = attn.expand %x : (tensor<6x8xf32>) -> tensor<2x4x8xf32>
  return
}
