// RUN: attnc-opt -verify-diagnostics -split-input-file %s

// expected-error @below {{'attn.weight' op needs exactly one of 'from', 'sinusoid' and 'value'}}
attn.weight @weight_c1_no_source : tensor<4xf32>

// -----

// expected-error @below {{'attn.weight' op needs exactly one of 'from', 'sinusoid' and 'value'}}
attn.weight @weight_c1_two_sources from ["a"] value dense<1.0> : tensor<4xf32> : tensor<4xf32>

// -----

// expected-error @below {{'attn.weight' op needs a static shape, but is of type 'tensor<?x4xf32>'}}
attn.weight @weight_c2_dynamic_axis from ["a"] : tensor<?x4xf32>

// -----

// expected-error @below {{'attn.weight' op has 2 tensors, but 'rows' for 1}}
attn.weight @weight_c3_no_rows from ["a", "b"] : tensor<4x4xf32>

// -----

// expected-error @below {{'attn.weight' op has 'rows' that sum to 5, but is of type 'tensor<4x4xf32>'}}
attn.weight @weight_c3_wrong_sum from ["a", "b"] rows [2, 3] : tensor<4x4xf32>

// -----

attn.weight @weight_c4_zeros_among_others from ["", "b"] rows [2, 2] : tensor<4xf32>

// -----

// expected-error @below {{'attn.weight' op has a single tensor without a name}}
attn.weight @weight_c4_only_zeros from [""] : tensor<4xf32>

// -----

// expected-error @below {{'attn.weight' op needs a matrix of even width of at least 2 for sinusoids, but is of type 'tensor<8x5xf32>'}}
attn.weight @weight_c5_odd_width sinusoid <interleaved = true, inclusive = false, start = 0> : tensor<8x5xf32>

// -----

// expected-error @below {{'attn.weight' op needs a matrix of even width of at least 4 for sinusoids}}
attn.weight @weight_c5_inclusive_narrow sinusoid <interleaved = true, inclusive = true, start = 0> : tensor<8x2xf32>

// -----

// expected-error @below {{'attn.weight' op has a value of type 'tensor<3xf32>', but is of type 'tensor<4xf32>'}}
attn.weight @weight_c6_other_shape value dense<1.0> : tensor<3xf32> : tensor<4xf32>

// -----

// expected-error @below {{'attn.weight' op is not a matrix, so it cannot be transposed or in panels}}
attn.weight @weight_c7_transposed_vector from ["a"] transposed : tensor<4xf32>

// -----

// expected-error @below {{'attn.weight' op is not a matrix of f32 from tensors, so it cannot be stored as int8}}
attn.weight @weight_c8_vector_of_integers from ["a"] as int8 : tensor<4xf32>

// -----

// expected-error @below {{'attn.weight' op holds the scales of 40 outputs, but is of type 'tensor<2x32xf32>'}}
attn.weight @weight_c8_short_scales from ["a"] rows [40] scales 8 : tensor<2x32xf32>

// -----

attn.weight @weight_c8_scales_of_two_parts from ["a", "b"] rows [40, 8] scales 8 : tensor<2x64xf32>

// -----

func.func @get_weight_c1_undeclared() {
  // expected-error @below {{'attn.get_weight' op @w is no 'attn.weight'}}
  %w = attn.get_weight @w : tensor<4xf32>
  return
}

// -----

// expected-note @below {{declared here}}
attn.state @slots : tensor<?x?x2x4xf32, #attn.axes<slot, capacity, head, width>>
func.func @read_state_c1_part_of_other_heads() {
  // expected-error @below {{'attn.read_state' op has type 'tensor<?x?x3x4xf32, #attn.axes<part, capacity, head, width>>', but @slots has 'tensor<?x?x2x4xf32, #attn.axes<slot, capacity, head, width>>'}}
  %x = attn.read_state @slots : tensor<?x?x3x4xf32, #attn.axes<part, capacity, head, width>>
  return
}
func.func @read_state_c1_part() {
  %x = attn.read_state @slots : tensor<?x?x2x4xf32, #attn.axes<part, capacity, head, width>>
  return
}

// -----

// expected-note @below {{declared here}}
attn.weight @w from ["w"] : tensor<5xf32>
func.func @get_weight_c1_other_type() {
  // expected-error @below {{'attn.get_weight' op has type 'tensor<4xf32>', but @w has 'tensor<5xf32>'}}
  %w = attn.get_weight @w : tensor<4xf32>
  return
}

// -----

// expected-error @below {{'attn.state' op needs a name for each dynamic axis, but is of type 'tensor<?x4xf32>'}}
attn.state @state_c1_unnamed : tensor<?x4xf32>

// -----

attn.weight @w from ["w"] : tensor<4xf32>
func.func @read_state_c1_of_a_weight() {
  // expected-error @below {{'attn.read_state' op @w is no 'attn.state'}}
  %x = attn.read_state @w : tensor<4xf32>
  return
}

// -----

// expected-note @below {{declared here}}
attn.state @s : tensor<5xf32>
func.func @write_state_c1_other_type(%x: tensor<4xf32>) {
  // expected-error @below {{'attn.write_state' op has type 'tensor<4xf32>', but @s has 'tensor<5xf32>'}}
  attn.write_state %x, @s : tensor<4xf32>
  return
}

// -----

// expected-note @below {{declared here}}
attn.state @s : tensor<?x5xf32, #attn.axes<batch, width>>
func.func @write_state_c1_part_of_other_width(%x: tensor<?x4xf32, #attn.axes<part, width>>) {
  // expected-error @below {{'attn.write_state' op has type 'tensor<?x4xf32, #attn.axes<part, width>>', but @s has 'tensor<?x5xf32, #attn.axes<batch, width>>'}}
  attn.write_state %x, @s : tensor<?x4xf32, #attn.axes<part, width>>
  return
}

// -----

// expected-error @below {{'func.func' op has 'attn.strides' that are no list of '#attn.size'}}
func.func @entry_strides(%x: tensor<4xf32> {attn.strides = [1 : i32]}) {
  return
}

// -----

// expected-error @below {{'func.func' op has an 'attn.name' that is not a string}}
func.func @entry_name(%x: tensor<4xf32>) -> (tensor<4xf32> {attn.name = 3 : i32}) {
  return %x : tensor<4xf32>
}
