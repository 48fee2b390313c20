// Rules of the operations that a recurrence needs around its cell.
// RUN: attnc-opt -verify-diagnostics -split-input-file %s

func.func @concat_c1_rows_differ(%x: tensor<2x8xf32>, %y: tensor<3x8xf32>) {
  // expected-error @below {{an axis of the first input is 2, but another's is 3}}
  %0 = attn.concat %x, %y : (tensor<2x8xf32>, tensor<3x8xf32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @concat_c2_unknown_width(%x: tensor<2x?xf32>) {
  // expected-error @below {{needs known widths}}
  %0 = attn.concat %x, %x : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<2x?xf32>
  return
}

// -----

func.func @recall_c1_two_heads(%c: tensor<4x2x2x8xf32>, %a: tensor<3x5xi32>, %p: tensor<3xi32>, %h: tensor<3x1x8xf32>) {
  // expected-error @below {{needs a cache of one head}}
  %0 = attn.recall %c, %a at %p else %h : (tensor<4x2x2x8xf32>, tensor<3x5xi32>, tensor<3xi32>, tensor<3x1x8xf32>) -> tensor<3x1x8xf32>
  return
}

// -----

func.func @recall_c2_positions_of_other_rows(%c: tensor<4x2x1x8xf32>, %a: tensor<3x5xi32>, %p: tensor<2xi32>, %h: tensor<3x1x8xf32>) {
  // expected-error @below {{the number of positions is 2, but the number of rows is 3}}
  %0 = attn.recall %c, %a at %p else %h : (tensor<4x2x1x8xf32>, tensor<3x5xi32>, tensor<2xi32>, tensor<3x1x8xf32>) -> tensor<3x1x8xf32>
  return
}

// -----

func.func @zeros_c1_no_width(%l: tensor<2xi32>) {
  // expected-error @below {{'width' is 0, but must be at least 1}}
  %0 = attn.zeros for %l width 0 : (tensor<2xi32>) -> tensor<2x1x0xf32>
  return
}

// -----

func.func @live_c1_lengths_of_other_rows(%x: tensor<2x3x8xf32>, %l: tensor<4xi32>) {
  // expected-error @below {{the number of lengths is 4, but the sequence's batch axis is 2}}
  %0 = attn.live %x, %l : (tensor<2x3x8xf32>, tensor<4xi32>) -> tensor<2x3xi32>
  return
}

// -----

func.func @where_c1_other_axes(%m: tensor<2xi32>, %x: tensor<2x3x8xf32>) {
  // expected-error @below {{chooses rows of}}
  %0 = attn.where %m, %x : (tensor<2xi32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  return
}

// -----

func.func @where_c2_keeps_another_type(%m: tensor<2xi32>, %x: tensor<2x8xf32>, %y: tensor<2x4xf32>) {
  // expected-error @below {{in place of}}
  %0 = attn.where %m, %x else %y : (tensor<2xi32>, tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  return
}
