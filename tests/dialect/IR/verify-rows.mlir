// RUN: attnc-opt -verify-diagnostics -split-input-file %s

func.func @embed_rejects_ids_of_rank_3(%ids: tensor<1x2x3xi32>, %t: tensor<51x8xf32>) {
  // expected-error @below {{operand #0 must be 1D/2D tensor of 32-bit signless integer values}}
  %x = attn.embed %ids, %t : (tensor<1x2x3xi32>, tensor<51x8xf32>) -> tensor<1x2x3x8xf32>
  return
}

// -----

func.func @embed_accepts_a_single_row(%ids: tensor<3xi32>, %t: tensor<51x8xf32>) {
  %x = attn.embed %ids, %t : (tensor<3xi32>, tensor<51x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

func.func @add_positions_c1_no_query_axis(%x: tensor<3x8xf32>, %t: tensor<16x8xf32>) {
  // expected-error @below {{needs an input with the axes batch, query, width, but it has rank 2}}
  %y = attn.add_positions %x, %t : (tensor<3x8xf32>, tensor<16x8xf32>) -> tensor<3x8xf32>
  return
}

// -----

func.func @add_positions_c2_narrow_table(%x: tensor<1x3x8xf32>, %t: tensor<16x6xf32>) {
  // expected-error @below {{the input's width is 8, but the table's width is 6}}
  %y = attn.add_positions %x, %t : (tensor<1x3x8xf32>, tensor<16x6xf32>) -> tensor<1x3x8xf32>
  return
}

// -----

func.func @add_positions_c3_other_batch(%x: tensor<2x3x8xf32>, %t: tensor<16x8xf32>, %s: tensor<3xi32>) {
  // expected-error @below {{the number of starts is 3, but the input's batch axis is 2}}
  %y = attn.add_positions %x, %t from %s : (tensor<2x3x8xf32>, tensor<16x8xf32>, tensor<3xi32>) -> tensor<2x3x8xf32>
  return
}

// -----

func.func @add_positions_c4_offset_past_the_table(%x: tensor<2x3x8xf32>, %t: tensor<16x8xf32>) {
  // expected-error @below {{'offset' is 16, but the table has 16 rows}}
  %y = attn.add_positions %x, %t {offset = 16 : i64} : (tensor<2x3x8xf32>, tensor<16x8xf32>) -> tensor<2x3x8xf32>
  return
}

// -----

func.func @linear_c1_other_width(%x: tensor<2x3x8xf32>, %w: tensor<4x6xf32>) {
  // expected-error @below {{the input's width is 8, but the weight's in axis is 6}}
  %y = attn.linear %x, %w : (tensor<2x3x8xf32>, tensor<4x6xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @linear_c2_short_bias(%x: tensor<2x3x8xf32>, %w: tensor<4x8xf32>, %b: tensor<3xf32>) {
  // expected-error @below {{the bias's width is 3, but the weight's out axis is 4}}
  %y = attn.linear %x, %w bias %b : (tensor<2x3x8xf32>, tensor<4x8xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

func.func @layer_norm_c1_short_bias(%x: tensor<2x3x8xf32>, %w: tensor<8xf32>, %b: tensor<7xf32>) {
  // expected-error @below {{the bias's width is 7, but the input's width is 8}}
  %y = attn.layer_norm %x, %w bias %b epsilon 1.0e-5 : (tensor<2x3x8xf32>, tensor<8xf32>, tensor<7xf32>) -> tensor<2x3x8xf32>
  return
}

// -----

func.func @layer_norm_c2_negative_epsilon(%x: tensor<2x3x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{'epsilon' is -1.000000e+00, but must not be negative}}
  %y = attn.layer_norm %x, %w epsilon -1.0 : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  return
}

// -----

func.func @layer_norm_c3_unknown_width(%x: tensor<2x3x?xf32, #attn.axes<batch, query, width>>, %w: tensor<?xf32, #attn.axes<width>>) {
  // expected-error @below {{the input's width is the size 'width', but has to be a number}}
  %y = attn.layer_norm %x, %w epsilon 1.0e-5 : (tensor<2x3x?xf32, #attn.axes<batch, query, width>>, tensor<?xf32, #attn.axes<width>>) -> tensor<2x3x?xf32, #attn.axes<batch, query, width>>
  return
}

// -----

func.func @rms_norm_c1_other_width(%x: tensor<2x3x8xf32>, %w: tensor<6xf32>) {
  // expected-error @below {{the weight's width is 6, but the input's width is 8}}
  %y = attn.rms_norm %x, %w epsilon 1.0e-5 : (tensor<2x3x8xf32>, tensor<6xf32>) -> tensor<2x3x8xf32>
  return
}

// -----

func.func @rms_norm_c2_negative_epsilon(%x: tensor<2x3x8xf32>, %w: tensor<8xf32>) {
  // expected-error @below {{'epsilon' is -1.000000e+00, but must not be negative}}
  %y = attn.rms_norm %x, %w epsilon -1.0 : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  return
}

// -----

func.func @rms_norm_c3_unknown_width(%x: tensor<2x?xf32, #attn.axes<row, width>>, %w: tensor<?xf32, #attn.axes<width>>) {
  // expected-error @below {{the input's width is the size 'width', but has to be a number}}
  %y = attn.rms_norm %x, %w epsilon 1.0e-5 : (tensor<2x?xf32, #attn.axes<row, width>>, tensor<?xf32, #attn.axes<width>>) -> tensor<2x?xf32, #attn.axes<row, width>>
  return
}

// -----

func.func @pick_c1_ids_of_another_rank(%x: tensor<2x3x8xf32>, %ids: tensor<2xi32>) {
  // expected-error @below {{needs ids for the axes before the last}}
  %y = attn.pick %x, %ids : (tensor<2x3x8xf32>, tensor<2xi32>) -> tensor<2xf32>
  return
}

// -----

func.func @pick_c1_ids_of_another_length(%x: tensor<2x3x8xf32>, %ids: tensor<2x4xi32>) {
  // expected-error @below {{an axis of the ids is 4, but the input's is 3}}
  %y = attn.pick %x, %ids : (tensor<2x3x8xf32>, tensor<2x4xi32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @linear_c3_integers_without_scales(%x: tensor<3x64xui8>, %w: tensor<4x8xi8>) {
  // expected-error @below {{needs rows of bytes, a weight of i8 and the scales of both, or none of them}}
  %y = attn.linear %x, %w : (tensor<3x64xui8>, tensor<4x8xi8>) -> tensor<3x4xf32>
  return
}

// -----

func.func @linear_c3_floats_with_integers(%x: tensor<3x8xf32>, %w: tensor<4x8xi8>) {
  // expected-error @below {{needs rows of bytes, a weight of i8 and the scales of both, or none of them}}
  %y = attn.linear %x, %w : (tensor<3x8xf32>, tensor<4x8xi8>) -> tensor<3x4xf32>
  return
}

// -----

func.func @linear_c1_short_rows_of_bytes(%x: tensor<3x64xui8>, %s: tensor<3x2xf32>, %w: tensor<4x72xi8>, %ws: tensor<2x32xf32>) {
  // expected-error @below {{has rows of 64 bytes for a weight of 72 inputs}}
  %y = attn.linear %x scaled %s, %w scaled %ws : (tensor<3x64xui8>, tensor<3x2xf32>, tensor<4x72xi8>, tensor<2x32xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @linear_c3_all_of_them(%x: tensor<3x128xui8>, %s: tensor<3x2xf32>, %w: tensor<4x72xi8>, %ws: tensor<2x32xf32>) {
  %y = attn.linear %x scaled %s, %w scaled %ws : (tensor<3x128xui8>, tensor<3x2xf32>, tensor<4x72xi8>, tensor<2x32xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @embed_c1_integers_without_scales(%ids: tensor<3xi32>, %t: tensor<51x8xi8>) {
  // expected-error @below {{needs scales for a table of i8, and for no other}}
  %x = attn.embed %ids, %t : (tensor<3xi32>, tensor<51x8xi8>) -> tensor<3x8xf32>
  return
}

// -----

func.func @quantise_c1_unknown_width(%x: tensor<3x?xf32>) {
  // expected-error @below {{needs rows of a known width, but has 'tensor<3x?xf32>'}}
  %b, %s = attn.quantise %x : (tensor<3x?xf32>) -> (tensor<3x?xui8>, tensor<3x2xf32>)
  return
}
