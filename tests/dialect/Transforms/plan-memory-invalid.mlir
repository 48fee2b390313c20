// RUN: attnc-opt --attn-plan-memory -verify-diagnostics -split-input-file %s

// expected-error @below {{has an argument of type 'tensor<?x8xf32>': each dynamic axis needs a name}}
func.func @unnamed_argument(%x: tensor<?x8xf32>) {
  return
}

// -----

attn.kernel @copy {
^bb0(%in: tensor<?x8xf32>):
  attn.yield %in : tensor<?x8xf32>
}
func.func @unnamed_result(%x: tensor<?x8xf32, #attn.axes<row, width>>) {
  // expected-error @below {{has a dynamic axis without a name, so its memory cannot be planned}}
  %0 = attn.call @copy(%x) : (tensor<?x8xf32, #attn.axes<row, width>>) -> tensor<?x8xf32>
  return
}

// -----

!step = tensor<?x1x1x8xf32, #attn.axes<row, head, query, width>>
!cache = tensor<?x?x1x8xf32, #attn.axes<slot, capacity, head, width>>
attn.kernel @append {
^bb0(%fresh: !step, %before: !cache, %positions: tensor<?xi32, #attn.axes<row>>):
  %0 = attn.append %fresh, %before at %positions : (!step, !cache, tensor<?xi32, #attn.axes<row>>) -> !cache
  attn.yield %0 : !cache
}
func.func @append_to_an_argument(%fresh: !step, %cache: !cache, %positions: tensor<?xi32, #attn.axes<row>>) {
  // expected-error @below {{appends to a value that is not a state}}
  %0 = attn.call @append(%fresh, %cache, %positions) : (!step, !cache, tensor<?xi32, #attn.axes<row>>) -> !cache
  return
}

// -----

attn.state @state : tensor<8xf32>
func.func @write_of_an_argument(%x: tensor<8xf32>) {
  // expected-error @below {{attn-insert-copies has not run}}
  attn.write_state %x, @state : tensor<8xf32>
  return
}

// -----

// expected-error @below {{needs one block, but has 0}}
func.func private @declared_only(%x: tensor<8xf32>)
