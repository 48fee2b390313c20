// RUN: attnc-opt -verify-diagnostics -split-input-file %s
// A result's type follows from the operands, names of axes included.

func.func @accepts_tensors_without_names(%q: tensor<2x8x16x64xf32>, %k: tensor<2x8x5x64xf32>) -> tensor<2x8x16x5xf32> {
  %s = attn.matmul %q, %k transposed : (tensor<2x8x16x64xf32>, tensor<2x8x5x64xf32>) -> tensor<2x8x16x5xf32>
  return %s : tensor<2x8x16x5xf32>
}

// -----

func.func @names_a_static_collapsed_axis_row(%x: tensor<2x3x8xf32, #attn.axes<batch, query, width>>) {
  %rows = attn.collapse %x : (tensor<2x3x8xf32, #attn.axes<batch, query, width>>) -> tensor<6x8xf32, #attn.axes<row, width>>
  return
}

// -----

func.func @collapses_a_single_query_to_the_batch(%x: tensor<?x1x8xf32, #attn.axes<row, query, width>>) {
  %rows = attn.collapse %x : (tensor<?x1x8xf32, #attn.axes<row, query, width>>) -> tensor<?x8xf32, #attn.axes<row, width>>
  return
}

// -----

func.func @rejects_another_width(%x: tensor<?x?x8xf32>, %w: tensor<16x8xf32>) {
  // expected-error @below {{failed to infer returned types}}
  // expected-error @below {{'attn.linear' op inferred type(s) 'tensor<?x?x16xf32>' are incompatible}}
  %y = attn.linear %x, %w : (tensor<?x?x8xf32>, tensor<16x8xf32>) -> tensor<?x?x8xf32>
  return
}

// -----

!queries = tensor<?x2x?x4xf32, #attn.axes<batch, head, target, width>>
!keys = tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>
func.func @rejects_another_name(%q: !queries, %k: !keys) {
  // expected-error @below {{failed to infer returned types}}
  // expected-error @below {{#attn.axes<batch, head, target, source>>' are incompatible}}
  %s = attn.matmul %q, %k transposed : (!queries, !keys) -> tensor<?x2x?x?xf32, #attn.axes<batch, head, target, target>>
  return
}

// -----

!p = tensor<?x1x43xf32, #attn.axes<row, query, width>>
func.func @top_k_gives_candidates(%p: !p) {
  // expected-error @below {{failed to infer returned types}}
  // expected-error @below {{#attn.axes<row, query, candidate>>}}
  %v, %i = attn.top_k %p : (!p) -> (tensor<?x1x?xf32, #attn.axes<row, query, width>>, tensor<?x1x?xi32, #attn.axes<row, query, width>>)
  return
}
