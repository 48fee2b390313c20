// RUN: attnc-opt --attn-fuse-attention --attn-fuse-vocabulary --attn-fuse-embedding --attn-fuse-linear --attn-fuse-remaining -verify-diagnostics %s
// What keeps neighbouring regions apart: one function for each reason, and those in which there is none.

!ids = tensor<?x?xi32, #attn.axes<batch, source>>
!x = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!heads = tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>
!scores = tensor<?x2x?x?xf32, #attn.axes<batch, head, source, source>>
attn.state @state : !x

func.func @output_as_well(%x: !x, %w: tensor<8x8xf32>) -> (!x, !x) {
  %0 = attn.linear %x, %w : (!x, tensor<8x8xf32>) -> !x
  // expected-remark @below {{not fused: the linear is an output as well}}
  %1 = attn.activation relu %0 : !x
  return %0, %1 : !x, !x
}

func.func @second_reader(%x: !x, %w: tensor<8x8xf32>) -> (!x, !x) {
  %0 = attn.linear %x, %w : (!x, tensor<8x8xf32>) -> !x
  // expected-remark @below {{not fused: the linear has a second reader}}
  %1 = attn.activation relu %0 : !x
  // expected-remark @below {{not fused: the linear has a second reader}}
  %2 = attn.activation tanh %0 : !x
  return %1, %2 : !x, !x
}

func.func @state_as_well(%x: !x, %w: tensor<8x8xf32>) -> !x {
  %0 = attn.linear %x, %w : (!x, tensor<8x8xf32>) -> !x
  attn.write_state %0, @state : !x
  // expected-remark @below {{not fused: the linear is kept in a state as well}}
  %1 = attn.activation relu %0 : !x
  return %1 : !x
}

func.func @second_norm(%x: !x, %w: tensor<8x8xf32>, %g: tensor<8xf32>) -> (!x, !x) {
  // expected-remark @below {{fused: matmul with epilogue of linear, rms_norm}}
  %0 = attn.linear %x, %w : (!x, tensor<8x8xf32>) -> !x
  %1 = attn.rms_norm %0, %g epsilon 1.0e-5 : (!x, tensor<8xf32>) -> !x
  // expected-remark @below {{not fused: the kernel of the linear has a norm already}}
  %2 = attn.layer_norm %0, %g epsilon 1.0e-5 : (!x, tensor<8xf32>) -> !x
  return %1, %2 : !x, !x
}

func.func @norm_that_comes_too_late(%x: !x, %w: tensor<8x8xf32>, %g: tensor<8xf32>) -> (!x, !x) {
  %0 = attn.linear %x, %w : (!x, tensor<8x8xf32>) -> !x
  // expected-remark @below {{not fused: the linear has a second reader}}
  %1 = attn.activation tanh %0 : !x
  // expected-remark @below {{not fused: another reader of the linear comes before it}}
  %2 = attn.layer_norm %0, %g epsilon 1.0e-5 : (!x, tensor<8xf32>) -> !x
  return %1, %2 : !x, !x
}

func.func @after_a_norm(%x: !x, %g: tensor<8xf32>) -> !x {
  %0 = attn.layer_norm %x, %g epsilon 1.0e-5 : (!x, tensor<8xf32>) -> !x
  // expected-remark @below {{not fused: a kernel ends with its layer_norm}}
  %1 = attn.activation gelu %0 : !x
  return %1 : !x
}

func.func @norm_of_pointwise_operations(%x: !x, %g: tensor<8xf32>) -> !x {
  %0 = attn.activation gelu %x : !x
  // expected-remark @below {{not fused: the kernel of pointwise operations cannot take layer_norm in, because norms go only into kernels of one linear or of an embedding}}
  %1 = attn.layer_norm %0, %g epsilon 1.0e-5 : (!x, tensor<8xf32>) -> !x
  return %1 : !x
}

func.func @norm_of_a_gated_linear(%x: !x, %w: tensor<8x8xf32>, %u: tensor<8x8xf32>, %g: tensor<8xf32>) -> !x {
  // expected-remark @below {{fused: gated matmul with epilogue of linear, linear, mul}}
  %0 = attn.linear %x, %w : (!x, tensor<8x8xf32>) -> !x
  %1 = attn.linear %x, %u : (!x, tensor<8x8xf32>) -> !x
  %2 = attn.mul %0, %1 : !x
  // expected-remark @below {{not fused: the kernel of a gated linear cannot take rms_norm in, because norms go only into kernels of one linear or of an embedding}}
  %3 = attn.rms_norm %2, %g epsilon 1.0e-5 : (!x, tensor<8xf32>) -> !x
  return %3 : !x
}

func.func @activation_of_an_embedding(%ids: !ids, %t: tensor<51x8xf32>) -> !x {
  %0 = attn.embed %ids, %t : (!ids, tensor<51x8xf32>) -> !x
  // expected-remark @below {{not fused: the kernel of an embedding cannot take activation in, because pointwise operations go only into kernels of linears, of products and of pointwise operations}}
  %1 = attn.activation gelu %0 : !x
  return %1 : !x
}

func.func @sum_of_two_linears(%x: !x, %y: !x, %w: tensor<8x8xf32>) -> !x {
  // expected-remark @below {{fused: matmul with epilogue of linear, add}}
  %0 = attn.linear %x, %w : (!x, tensor<8x8xf32>) -> !x
  %1 = attn.linear %y, %w : (!x, tensor<8x8xf32>) -> !x
  // expected-remark @below {{not fused: it is in the kernel of another operation that it reads}}
  %2 = attn.add %0, %1 : !x
  return %2 : !x
}

func.func @scale_of_heads(%x: !x, %w: tensor<8x8xf32>) -> !heads {
  %0 = attn.linear %x, %w : (!x, tensor<8x8xf32>) -> !x
  %1 = attn.split_heads %0 into 2 : (!x) -> !heads
  // expected-remark @below {{not fused: between it and the linear stands a split_heads}}
  %2 = attn.scale %1 by 0.5 : !heads
  return %2 : !heads
}

func.func @scale_of_context(%q: !heads, %k: !heads) -> !heads {
  // expected-remark @below {{fused: attention of matmul, softmax, matmul}}
  %0 = attn.matmul %q, %k transposed : (!heads, !heads) -> !scores
  %1 = attn.softmax %0 : !scores
  %2 = attn.matmul %1, %k : (!scores, !heads) -> !heads
  // expected-remark @below {{not fused: the kernel of attention cannot take scale in, because pointwise operations go only into kernels of linears, of products and of pointwise operations}}
  %3 = attn.scale %2 by 0.5 : !heads
  return %3 : !heads
}

func.func @masks_without_softmax(%q: !heads, %k: !heads) -> !scores {
  // expected-remark @below {{fused: product of matmul, causal_mask}}
  %0 = attn.matmul %q, %k transposed : (!heads, !heads) -> !scores
  %1 = attn.causal_mask %0 : !scores
  return %1 : !scores
}

func.func @masks_of_sums(%a: !scores, %b: !scores) -> !scores {
  %0 = attn.add %a, %b : !scores
  // expected-remark @below {{not fused: the kernel of pointwise operations cannot take causal_mask in, because masks and score maps go only into kernels of attention and of products}}
  %1 = attn.causal_mask %0 : !scores
  return %1 : !scores
}

func.func @mask_of_a_product_with_a_second_reader(%q: !heads, %k: !heads) -> (!scores, !scores) {
  %0 = attn.matmul %q, %k transposed : (!heads, !heads) -> !scores
  // expected-remark @below {{not fused: the matmul is an output as well}}
  %1 = attn.causal_mask %0 : !scores
  return %1, %0 : !scores, !scores
}

func.func @l2_norm_of_context(%q: !heads, %k: !heads) -> !heads {
  // expected-remark @below {{fused: attention of matmul, softmax, matmul}}
  %0 = attn.matmul %q, %k transposed : (!heads, !heads) -> !scores
  %1 = attn.softmax %0 : !scores
  %2 = attn.matmul %1, %k : (!scores, !heads) -> !heads
  // expected-remark @below {{not fused: the kernel of attention cannot take l2_norm in, because it is always a kernel of its own}}
  %3 = attn.l2_norm %2 epsilon 1.0e-5 : !heads
  return %3 : !heads
}

func.func @weights_with_a_second_reader(%q: !heads, %k: !heads, %b: !scores) -> (!heads, !scores) {
  // expected-remark @below {{fused: attention of matmul, scale, add, causal_mask, softmax}}
  %0 = attn.matmul %q, %k transposed : (!heads, !heads) -> !scores
  %1 = attn.scale %0 by 0.5 : !scores
  %2 = attn.add %1, %b : !scores
  %3 = attn.causal_mask %2 : !scores
  // expected-remark @below {{not fused: the weights have a second reader, so they are a kernel's result, and what is made of them is another kernel}}
  %4 = attn.softmax %3 : !scores
  %5 = attn.matmul %4, %k : (!scores, !heads) -> !heads
  return %5, %4 : !heads, !scores
}

// A pre-norm block: the residual has a kernel elsewhere, and the linears' operands are no followers.
func.func @says_nothing_of_blocks(%x: !x, %w: tensor<8x8xf32>, %g: tensor<8xf32>) -> !x {
  // expected-remark @below {{fused: matmul with epilogue of linear, add, rms_norm}}
  %0 = attn.linear %x, %w : (!x, tensor<8x8xf32>) -> !x
  %1 = attn.add %0, %x : !x
  %2 = attn.rms_norm %1, %g epsilon 1.0e-5 : (!x, tensor<8xf32>) -> !x
  // expected-remark @below {{fused: matmul with epilogue of linear, activation}}
  %3 = attn.linear %2, %w : (!x, tensor<8x8xf32>) -> !x
  %4 = attn.activation gelu %3 : !x
  // expected-remark @below {{fused: matmul with epilogue of linear, add}}
  %5 = attn.linear %4, %w : (!x, tensor<8x8xf32>) -> !x
  %6 = attn.add %5, %1 : !x
  return %6 : !x
}
