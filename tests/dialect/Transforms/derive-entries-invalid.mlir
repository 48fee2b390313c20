// RUN: attnc-opt --attn-derive-entries -verify-diagnostics -split-input-file %s

!ids = tensor<?x?xi32, #attn.axes<batch, target>>
!lengths = tensor<?xi32, #attn.axes<batch>>
!memory = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!target = tensor<?x?x8xf32, #attn.axes<batch, target, width>>
!heads = tensor<?x2x?x4xf32, #attn.axes<batch, head, target, width>>
!scores = tensor<?x2x?x?xf32, #attn.axes<batch, head, target, target>>
attn.weight @table from ["t"] : tensor<9x8xf32>
func.func @encode(%x: !memory, %lengths: !lengths) -> !memory {
  return %x : !memory
}
func.func @decode(%ids: !ids, %memory: !memory, %lengths: !lengths) -> !target {
  %table = attn.get_weight @table : tensor<9x8xf32>
  %x = attn.embed %ids, %table : (!ids, tensor<9x8xf32>) -> !target
  %h = attn.split_heads %x into 2 : (!target) -> !heads
  // expected-note @below {{these scores reach later positions; a causal mask would hide them}}
  %s = attn.matmul %h, %h transposed : (!heads, !heads) -> !scores
  %t = attn.scale %s by 0.5 : !scores
  // expected-error @below {{'attn.softmax' op of the decoder's self-attention is not causal, so no step can be derived}}
  %w = attn.softmax %t : !scores
  %c = attn.matmul %w, %h : (!scores, !heads) -> !heads
  %m = attn.merge_heads %c : (!heads) -> !target
  return %m : !target
}

// -----

// expected-error @below {{has no 'encode' beside it}}
func.func @decode(%ids: tensor<1x2xi32>, %memory: tensor<1x2xf32>) {
  return
}

// -----

// expected-error @below {{'func.func' op needs 1 arguments, 1 results and one block, but has 1, 0 and 1}}
func.func @decode(%ids: tensor<1x2xi32>) {
  return
}

// -----

// expected-error @below {{'func.func' op needs 2 arguments, 1 results and one block, but has 1, 0 and 1}}
func.func @encode(%x: tensor<1x2xf32, #attn.axes<batch, width>>) {
  return
}
func.func @decode(%ids: tensor<1x2xi32>) {
  return
}

// -----

!ids = tensor<?x?xi32, #attn.axes<batch, target>>
!lengths = tensor<?xi32, #attn.axes<batch>>
!memory = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!other = tensor<?x?x6xf32, #attn.axes<batch, source, width>>
func.func @encode(%x: !memory, %lengths: !lengths) -> !memory {
  return %x : !memory
}
// expected-error @below {{takes a memory of type 'tensor<?x?x6xf32, #attn.axes<batch, source, width>>', but 'encode' returns}}
func.func @decode(%ids: !ids, %memory: !other, %lengths: !lengths) -> !other {
  return %memory : !other
}

// -----

!ids = tensor<?x?xi32, #attn.axes<batch, target>>
!lengths = tensor<?xi32, #attn.axes<batch>>
!memory = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!target = tensor<?x?x8xf32, #attn.axes<batch, target, width>>
!one = tensor<?x1x8xf32, #attn.axes<batch, query, width>>
attn.weight @table from ["t"] : tensor<9x8xf32>
func.func @encode(%x: !memory, %lengths: !lengths) -> !memory {
  return %x : !memory
}
func.func @decode(%ids: !ids, %memory: !memory, %lengths: !lengths) -> !target {
  %table = attn.get_weight @table : tensor<9x8xf32>
  %x = attn.embed %ids, %table : (!ids, tensor<9x8xf32>) -> !target
  // expected-error @below {{'attn.recurrence' op that is reversed or limited by lengths looks at later positions, so it cannot be stepped}}
  %y = attn.recurrence over (%x) init () reverse : (!target) -> !target {
  ^bb0(%now: !one):
    attn.yield %now : !one
  }
  return %y : !target
}

// -----

// expected-error @below {{needs 1 arguments, 1 results and one block, but has 1, 1 and 0}}
func.func private @predict(tensor<?xi32, #attn.axes<row>> {attn.name = "rows"})
    -> (tensor<?x8xf32, #attn.axes<row, width>> {attn.name = "logits"})
