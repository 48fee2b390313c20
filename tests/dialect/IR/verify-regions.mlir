// RUN: attnc-opt -verify-diagnostics -split-input-file %s

func.func @recurrence_c1_no_sequence(%h: tensor<2x1x8xf32>) {
  // expected-error @below {{needs at least one sequence}}
  %last = attn.recurrence over () init (%h) : (tensor<2x1x8xf32>) -> tensor<2x1x8xf32> {
  ^bb0(%state: tensor<2x1x8xf32>):
    attn.yield %state : tensor<2x1x8xf32>
  }
  return
}

// -----

func.func @recurrence_c2_argument_is_a_sequence(%x: tensor<2x3x8xf32>, %h: tensor<2x1x8xf32>) {
  // expected-error @below {{has 'tensor<2x1x8xf32>' as number 0 of its arguments, but its region has 'tensor<2x3x8xf32>'}}
  %y, %last = attn.recurrence over (%x) init (%h) : (tensor<2x3x8xf32>, tensor<2x1x8xf32>) -> (tensor<2x3x8xf32>, tensor<2x1x8xf32>) {
  ^bb0(%now: tensor<2x3x8xf32>, %state: tensor<2x1x8xf32>):
    attn.yield %state, %state : tensor<2x1x8xf32>, tensor<2x1x8xf32>
  }
  return
}

// -----

func.func @recurrence_c3_yields_too_little(%x: tensor<2x3x8xf32>, %h: tensor<2x1x8xf32>) {
  // expected-error @below {{has 2 results, but its region has 1}}
  %y, %last = attn.recurrence over (%x) init (%h) : (tensor<2x3x8xf32>, tensor<2x1x8xf32>) -> (tensor<2x3x8xf32>, tensor<2x1x8xf32>) {
  ^bb0(%now: tensor<2x1x8xf32>, %state: tensor<2x1x8xf32>):
    attn.yield %state : tensor<2x1x8xf32>
  }
  return
}

// -----

func.func @recurrence_c4_state_of_two_positions(%x: tensor<2x3x8xf32>, %h: tensor<2x2x8xf32>) {
  // expected-error @below {{each state has one position and a result}}
  %y, %last = attn.recurrence over (%x) init (%h) : (tensor<2x3x8xf32>, tensor<2x2x8xf32>) -> (tensor<2x3x8xf32>, tensor<2x2x8xf32>) {
  ^bb0(%now: tensor<2x1x8xf32>, %state: tensor<2x2x8xf32>):
    attn.yield %now, %state : tensor<2x1x8xf32>, tensor<2x2x8xf32>
  }
  return
}

// -----

func.func @fused_c1_argument_of_another_type(%x: tensor<2x8xf32>) {
  // expected-error @below {{has 'tensor<2x8xf32>' as number 0 of its inputs, but its region has 'tensor<3x8xf32>'}}
  %y = attn.fused(%x) : (tensor<2x8xf32>) -> tensor<3x8xf32> {
  ^bb0(%in: tensor<3x8xf32>):
    attn.yield %in : tensor<3x8xf32>
  }
  return
}

// -----

func.func @fused_c2_yields_too_much(%x: tensor<2x8xf32>) {
  // expected-error @below {{has 1 results, but its region has 2}}
  %y = attn.fused(%x) : (tensor<2x8xf32>) -> tensor<2x8xf32> {
  ^bb0(%in: tensor<2x8xf32>):
    attn.yield %in, %in : tensor<2x8xf32>, tensor<2x8xf32>
  }
  return
}

// -----

// expected-error @below {{'attn.kernel' op yields nothing}}
attn.kernel @kernel_c1_no_results {
^bb0(%in: tensor<2x8xf32>):
  attn.yield
}

// -----

// expected-error @below {{has scratch of type 'f32', which is not a ranked tensor}}
attn.kernel @kernel_c2_scalar_scratch scratch [f32] {
^bb0(%in: tensor<2x8xf32>):
  attn.yield %in : tensor<2x8xf32>
}

// -----

func.func @call_c1_no_kernel(%x: tensor<2x8xf32>) {
  // expected-error @below {{@nothing is no 'attn.kernel'}}
  %y = attn.call @nothing(%x) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

attn.kernel @rows {
^bb0(%in: tensor<?x8xf32, #attn.axes<row, width>>):
  attn.yield %in : tensor<?x8xf32, #attn.axes<row, width>>
}
func.func @call_c2_takes_any_rows(%x: tensor<2x8xf32>) {
  %y = attn.call @rows(%x) : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

attn.kernel @rows {
^bb0(%in: tensor<?x8xf32, #attn.axes<row, width>>):
  attn.yield %in : tensor<?x8xf32, #attn.axes<row, width>>
}
func.func @call_c2_other_width(%x: tensor<2x9xf32>) {
  // expected-error @below {{has 'tensor<2x9xf32>' as number 0 of its inputs, but @rows takes}}
  %y = attn.call @rows(%x) : (tensor<2x9xf32>) -> tensor<2x8xf32>
  return
}

// -----

attn.kernel @rows {
^bb0(%in: tensor<?x8xf32, #attn.axes<row, width>>):
  attn.yield %in : tensor<?x8xf32, #attn.axes<row, width>>
}
func.func @call_c2_two_inputs(%x: tensor<2x8xf32>) {
  // expected-error @below {{has 2 inputs, but @rows has 1}}
  %y = attn.call @rows(%x, %x) : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

attn.kernel @rows {
^bb0(%in: tensor<?x8xf32, #attn.axes<row, width>>):
  attn.yield %in : tensor<?x8xf32, #attn.axes<row, width>>
}
func.func @call_c3_two_places(%x: tensor<2x8xf32>) {
  // expected-error @below {{has 2 places for 1 results}}
  %y = attn.call @rows(%x) places [#attn.place<arena, #attn.size<0>>, #attn.place<arena, #attn.size<64>>] : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

attn.kernel @rows {
^bb0(%in: tensor<?x8xf32, #attn.axes<row, width>>):
  attn.yield %in : tensor<?x8xf32, #attn.axes<row, width>>
}
func.func @call_c4_scratch_of_none(%x: tensor<2x8xf32>) {
  // expected-error @below {{has 1 places for scratch, but @rows needs 0}}
  %y = attn.call @rows(%x) scratch [#attn.place<arena, #attn.size<0>>] : (tensor<2x8xf32>) -> tensor<2x8xf32>
  return
}
