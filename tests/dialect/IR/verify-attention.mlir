// RUN: attnc-opt -verify-diagnostics -split-input-file %s

func.func @matmul_c1_other_rank(%a: tensor<2x3xf32>, %b: tensor<1x3x4xf32>) {
  // expected-error @below {{has sides of rank 2 and 3, but needs the same, at least two}}
  %c = attn.matmul %a, %b : (tensor<2x3xf32>, tensor<1x3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @matmul_c2_other_heads(%a: tensor<1x2x3x4xf32>, %b: tensor<1x5x6x4xf32>) {
  // expected-error @below {{the number of heads on the left is 2, which the number of heads on the right (5) does not divide}}
  %c = attn.matmul %a, %b transposed : (tensor<1x2x3x4xf32>, tensor<1x5x6x4xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

func.func @matmul_c3_other_width(%a: tensor<1x2x3x4xf32>, %b: tensor<1x2x6x5xf32>) {
  // expected-error @below {{the left side's last axis is 4, but the right side's axis to sum over is 5}}
  %c = attn.matmul %a, %b transposed : (tensor<1x2x3x4xf32>, tensor<1x2x6x5xf32>) -> tensor<1x2x3x6xf32>
  return
}

// -----

!weights = tensor<?x2x?x?xf32, #attn.axes<batch, head, target, source>>
!values = tensor<?x2x?x4xf32, #attn.axes<batch, head, target, width>>
func.func @matmul_c3_other_size(%w: !weights, %v: !values) {
  // expected-error @below {{the left side's last axis is source, but the right side's axis to sum over is target}}
  %c = attn.matmul %w, %v : (!weights, !values) -> !values
  return
}

// -----

!left = tensor<?x2x?x8xf32, #attn.axes<batch, head, query, width>>
!right = tensor<?x2x?x8xf32, #attn.axes<batch, head, key, width>>
func.func @matmul_c3_size_for_an_extent(%a: !left, %b: !right) {
  %c = attn.matmul %a, %b : (!left, !right) -> !left
  return
}

// -----

!left = tensor<?x2x?x8xf32, #attn.axes<batch, head, query, width>>
!right = tensor<?x2x?x8xf32, #attn.axes<batch, head, key, width>>
func.func @matmul_c3_size_for_an_extent_in_a_graph(%a: !left, %b: !right) attributes {attn.graph} {
  // expected-error @below {{the left side's last axis is 8, but the right side's axis to sum over is the size 'key': write both alike}}
  %c = attn.matmul %a, %b : (!left, !right) -> !left
  return
}

// -----

func.func @matmul_c4_bf16_on_the_left(%a: tensor<1x2x3x4xbf16>, %b: tensor<1x2x6x4xbf16>) {
  // expected-error @below {{has a left side of bf16, but is not 'rounded'}}
  %c = attn.matmul %a, %b transposed : (tensor<1x2x3x4xbf16>, tensor<1x2x6x4xbf16>) -> tensor<1x2x3x6xf32>
  return
}

// -----

!scores = tensor<?x2x?x?xf32, #attn.axes<row, head, query, source>>
func.func @padding_mask_c1_lengths_of_sentences(%s: !scores, %l: tensor<?xi32, #attn.axes<batch>>) {
  // expected-error @below {{the number of lengths is batch, but the scores' batch axis is row}}
  %m = attn.padding_mask %s, %l : (!scores, tensor<?xi32, #attn.axes<batch>>) -> !scores
  return
}

// -----

func.func @softmax_c1_empty_key_axis(%s: tensor<1x2x3x0xf32>) {
  // expected-error @below {{has an empty key axis}}
  %w = attn.softmax %s : tensor<1x2x3x0xf32>
  return
}

// -----

func.func @mean_heads_c1_unknown_heads(%w: tensor<1x?x3x4xf32>) {
  // expected-error @below {{needs a known number of heads, but averages ?}}
  %m = attn.mean_heads %w : (tensor<1x?x3x4xf32>) -> tensor<1x3x4xf32>
  return
}

// -----

func.func @append_c1_too_many_positions(%f: tensor<1x2x10x4xf32>, %c: tensor<5x9x2x4xf32>, %p: tensor<1xi32>) {
  // expected-error @below {{appends 10 positions to a cache of 9}}
  %a = attn.append %f, %c at %p : (tensor<1x2x10x4xf32>, tensor<5x9x2x4xf32>, tensor<1xi32>) -> tensor<5x9x2x4xf32>
  return
}

// -----

func.func @append_c2_other_width(%f: tensor<1x2x1x3xf32>, %c: tensor<5x9x2x4xf32>, %p: tensor<1xi32>) {
  // expected-error @below {{the new width is 3, but the cache's is 4}}
  %a = attn.append %f, %c at %p : (tensor<1x2x1x3xf32>, tensor<5x9x2x4xf32>, tensor<1xi32>) -> tensor<5x9x2x4xf32>
  return
}

// -----

func.func @append_c3_too_many_positions(%f: tensor<1x2x1x4xf32>, %c: tensor<5x9x2x4xf32>, %p: tensor<2xi32>) {
  // expected-error @below {{the number of positions is 2, but the number of rows is 1}}
  %a = attn.append %f, %c at %p : (tensor<1x2x1x4xf32>, tensor<5x9x2x4xf32>, tensor<2xi32>) -> tensor<5x9x2x4xf32>
  return
}

// -----

func.func @append_c4_other_elements(%f: tensor<1x2x1x4xf32>, %c: tensor<5x9x2x4xbf16>, %p: tensor<1xi32>) {
  // expected-error @below {{appends elements of 'f32' to a cache of 'bf16'}}
  %a = attn.append %f, %c at %p : (tensor<1x2x1x4xf32>, tensor<5x9x2x4xbf16>, tensor<1xi32>) -> tensor<5x9x2x4xbf16>
  return
}

// -----

func.func @lookup_c1_other_capacity(%c: tensor<5x9x2x4xf32>, %a: tensor<3x8xi32>) {
  // expected-error @below {{the ancestors' position axis is 8, but the cache's is 9}}
  %k = attn.lookup %c, %a : (tensor<5x9x2x4xf32>, tensor<3x8xi32>) -> tensor<3x2x?x4xf32>
  return
}

// -----

func.func @take_c1_no_axis(%x: tensor<f32>, %i: tensor<3xi32>) {
  // expected-error @below {{needs an axis to select from}}
  %k = attn.take %x, %i : (tensor<f32>, tensor<3xi32>) -> tensor<3xf32>
  return
}
