// RUN: attnc-opt --attn-quantise -verify-diagnostics %s | FileCheck %s

!ids = tensor<?x?xi32, #attn.axes<batch, target>>
!heads = tensor<?x2x?x16xf32, #attn.axes<batch, head, target, width>>
!square = tensor<?x2x?x?xf32, #attn.axes<batch, head, target, target>>
!x = tensor<?x?x8xf32, #attn.axes<batch, target, width>>
!wide = tensor<?x?x16xf32, #attn.axes<batch, target, width>>
!even = tensor<?x?x32xf32, #attn.axes<batch, target, width>>
!logits = tensor<?x?x43xf32, #attn.axes<batch, target, width>>

// CHECK: attn.weight @tied from ["t"] : tensor<43x8xi8, #attn.panels<32, 4>>
// CHECK-NEXT: attn.weight @tied_scales from ["t"] rows [43] scales 8 : tensor<2x64xf32>
attn.weight @tied from ["t"] as int8 : tensor<43x8xf32>
// CHECK-NEXT: attn.weight @a from ["a", "b"] rows [8, 8] transposed : tensor<16x8xi8, #attn.panels<32, 4>>
// CHECK-NEXT: attn.weight @a_scales from ["a", "b"] rows [8, 8] transposed scales 8 : tensor<2x32xf32>
attn.weight @a from ["a", "b"] rows [8, 8] transposed as int8 : tensor<16x8xf32>
// CHECK-NEXT: attn.weight @half from ["h"] : tensor<16x8xbf16, #attn.panels<32, 2>>
attn.weight @half from ["h"] as bf16 : tensor<16x8xf32>
// CHECK-NEXT: attn.weight @embedded from ["e"] : tensor<43x8xf32>
// expected-remark @below {{stays f32, for no linear reads it: ["e"]}}
attn.weight @embedded from ["e"] as int8 : tensor<43x8xf32>
// CHECK-NEXT: attn.weight @plain from ["p"] : tensor<16x8xf32>
attn.weight @plain from ["p"] : tensor<16x8xf32>
// CHECK-NEXT: attn.weight @inner from ["i"] : tensor<8x8xf32>
// expected-remark @below {{stays f32, for it multiplies rows that the same kernel computes: ["i"]}}
attn.weight @inner from ["i"] as int8 : tensor<8x8xf32>
// CHECK-NEXT: attn.weight @long from ["l"] : tensor<8x65537xf32>
// expected-remark @below {{stays f32, for 32 bits do not hold the sums of so many inputs: ["l"]}}
attn.weight @long from ["l"] as int8 : tensor<8x65537xf32>
// Nothing is told of what nothing reads.
// CHECK-NEXT: attn.weight @unread from ["u"] : tensor<8x8xf32>
attn.weight @unread from ["u"] as int8 : tensor<8x8xf32>
// CHECK-NEXT: attn.weight @even from ["v"] : tensor<32x32xbf16, #attn.panels<32, 2>>
attn.weight @even from ["v"] as bf16 : tensor<32x32xf32>

// A value is quantised once, however many linears read it; the residual stays as it is.
// CHECK-LABEL: @quantises_a_value_once(
// CHECK-SAME: %[[X:[^:,]+]]: tensor
func.func @quantises_a_value_once(%x: !x, %r: !wide) -> (!wide, !logits) {
  %a = attn.get_weight @a : tensor<16x8xf32>
  %t = attn.get_weight @tied : tensor<43x8xf32>
  // CHECK: %[[ROWS:.*]]:2 = attn.fused(%[[X]])
  // CHECK-NEXT: ^bb0(%[[IN:[^:,]+]]: tensor
  // CHECK-NEXT: %[[BYTES:[^:,]+]], %[[SCALES:.*]] = attn.quantise %[[IN]]
  // CHECK-NEXT: attn.yield %[[BYTES]], %[[SCALES]] : tensor<?x?x64xui8, {{.*}}>, tensor<?x?x2xf32
  // CHECK: attn.fused({{.*}}, %[[ROWS]]#0, %[[ROWS]]#1)
  // CHECK-NEXT: ^bb0(%[[W:[^:,]+]]: tensor<16x8xi8, #attn.panels<32, 4>>, %[[R:[^:,]+]]: tensor<{{.*}}>, %[[WS:[^:,]+]]: tensor<2x32xf32>, %[[B:[^:,]+]]: tensor<{{.*}}>, %[[S:[^:,]+]]: tensor
  // CHECK-NEXT: %[[Y:.*]] = attn.linear %[[B]] scaled %[[S]], %[[W]] scaled %[[WS]]
  // CHECK-NEXT: attn.add %[[Y]], %[[R]]
  %y = attn.fused(%x, %a, %r) : (!x, tensor<16x8xf32>, !wide) -> !wide {
  ^bb0(%in: !x, %weight: tensor<16x8xf32>, %residual: !wide):
    %0 = attn.linear %in, %weight : (!x, tensor<16x8xf32>) -> !wide
    %1 = attn.add %0, %residual : !wide
    attn.yield %1 : !wide
  }
  // CHECK-NOT: attn.quantise
  // CHECK: attn.linear {{.*}} scaled
  %z = attn.fused(%x, %t) : (!x, tensor<43x8xf32>) -> !logits {
  ^bb0(%in: !x, %weight: tensor<43x8xf32>):
    %0 = attn.linear %in, %weight : (!x, tensor<43x8xf32>) -> !logits
    attn.yield %0 : !logits
  }
  return %y, %z : !wide, !logits
}

// CHECK-LABEL: @reads_integers_of_a_tied_table(
func.func @reads_integers_of_a_tied_table(%ids: !ids) -> (!x, !x) {
  %t = attn.get_weight @tied : tensor<43x8xf32>
  %e = attn.get_weight @embedded : tensor<43x8xf32>
  // CHECK: attn.embed %{{.*}}, %{{.*}} scaled %{{.*}} : (tensor<{{.*}}>, tensor<43x8xi8, #attn.panels<32, 4>>, tensor<2x64xf32>)
  %x = attn.fused(%ids, %t) : (!ids, tensor<43x8xf32>) -> !x {
  ^bb0(%i: !ids, %table: tensor<43x8xf32>):
    %0 = attn.embed %i, %table : (!ids, tensor<43x8xf32>) -> !x
    attn.yield %0 : !x
  }
  // CHECK: attn.embed {{.*}}, tensor<43x8xf32>)
  %y = attn.fused(%ids, %e) : (!ids, tensor<43x8xf32>) -> !x {
  ^bb0(%i: !ids, %table: tensor<43x8xf32>):
    %0 = attn.embed %i, %table : (!ids, tensor<43x8xf32>) -> !x
    attn.yield %0 : !x
  }
  return %x, %y : !x, !x
}

// CHECK-LABEL: @widens_bf16_in_the_kernel(
func.func @widens_bf16_in_the_kernel(%x: !x) -> (!wide, !wide) {
  %u = attn.get_weight @unread : tensor<8x8xf32>
  %h = attn.get_weight @half : tensor<16x8xf32>
  %p = attn.get_weight @plain : tensor<16x8xf32>
  // CHECK-NOT: attn.quantise
  // CHECK: attn.linear %{{.*}}, %{{.*}} : (tensor<?x?x8xf32, {{.*}}>, tensor<16x8xbf16, #attn.panels<32, 2>>)
  %y = attn.fused(%x, %h) : (!x, tensor<16x8xf32>) -> !wide {
  ^bb0(%in: !x, %weight: tensor<16x8xf32>):
    %0 = attn.linear %in, %weight : (!x, tensor<16x8xf32>) -> !wide
    attn.yield %0 : !wide
  }
  // CHECK: attn.linear %{{.*}}, %{{.*}} : (tensor<?x?x8xf32, {{.*}}>, tensor<16x8xf32>)
  %z = attn.fused(%x, %p) : (!x, tensor<16x8xf32>) -> !wide {
  ^bb0(%in: !x, %weight: tensor<16x8xf32>):
    %0 = attn.linear %in, %weight : (!x, tensor<16x8xf32>) -> !wide
    attn.yield %0 : !wide
  }
  return %y, %z : !wide, !wide
}

// Rows that the same kernel computes are floats, and so is what multiplies them.
// CHECK-LABEL: @leaves_rows_that_the_kernel_computes(
func.func @leaves_rows_that_the_kernel_computes(%x: !x) -> !x {
  %w = attn.get_weight @inner : tensor<8x8xf32>
  // CHECK: attn.linear %{{.*}}, %{{.*}} : (tensor<?x?x8xf32, {{.*}}>, tensor<8x8xf32>)
  %y = attn.fused(%x, %w) : (!x, tensor<8x8xf32>) -> !x {
  ^bb0(%in: !x, %weight: tensor<8x8xf32>):
    %0 = attn.activation relu %in : !x
    %1 = attn.linear %0, %weight : (!x, tensor<8x8xf32>) -> !x
    attn.yield %1 : !x
  }
  return %y : !x
}

// CHECK-LABEL: @leaves_sums_that_32_bits_do_not_hold(
func.func @leaves_sums_that_32_bits_do_not_hold(%x: tensor<2x65537xf32>) -> tensor<2x8xf32> {
  %w = attn.get_weight @long : tensor<8x65537xf32>
  // CHECK: attn.linear %{{.*}}, %{{.*}} : (tensor<2x65537xf32>, tensor<8x65537xf32>)
  %y = attn.fused(%x, %w) : (tensor<2x65537xf32>, tensor<8x65537xf32>) -> tensor<2x8xf32> {
  ^bb0(%in: tensor<2x65537xf32>, %weight: tensor<8x65537xf32>):
    %0 = attn.linear %in, %weight : (tensor<2x65537xf32>, tensor<8x65537xf32>) -> tensor<2x8xf32>
    attn.yield %0 : tensor<2x8xf32>
  }
  return %y : tensor<2x8xf32>
}

// Rows that whole steps of matrix instructions fill are rounded: in a region of their own where something else
// reads them, too,
// CHECK-LABEL: @rounds_a_value_once(
// CHECK-SAME: %[[X:[^:,]+]]: tensor
func.func @rounds_a_value_once(%x: !even) -> (!even, !even) {
  %w = attn.get_weight @even : tensor<32x32xf32>
  // CHECK: %[[ROWS:.*]] = attn.fused(%[[X]])
  // CHECK: attn.round %{{.*}} -> tensor<?x?x32xbf16, {{.*}}>
  // CHECK: attn.fused(%[[X]], %{{.*}}, %[[ROWS]])
  // CHECK-NEXT: ^bb0(%[[R:[^:,]+]]: tensor<?x?x32xf32, {{.*}}>, %[[W:[^:,]+]]: tensor<{{.*}}>, %[[IN:[^:,]+]]: tensor<?x?x32xbf16
  // CHECK-NEXT: %[[Y:.*]] = attn.linear %[[IN]], %[[W]]
  // CHECK-NEXT: attn.add %[[Y]], %[[R]]
  %y = attn.fused(%x, %w) : (!even, tensor<32x32xf32>) -> !even {
  ^bb0(%in: !even, %weight: tensor<32x32xf32>):
    %0 = attn.linear %in, %weight : (!even, tensor<32x32xf32>) -> !even
    %1 = attn.add %0, %in : !even
    attn.yield %1 : !even
  }
  // CHECK-NOT: attn.round
  // CHECK: attn.fused(%{{.*}}, %[[ROWS]])
  %z = attn.fused(%x, %w) : (!even, tensor<32x32xf32>) -> !even {
  ^bb0(%in: !even, %weight: tensor<32x32xf32>):
    %0 = attn.linear %in, %weight : (!even, tensor<32x32xf32>) -> !even
    attn.yield %0 : !even
  }
  return %y, %z : !even, !even
}

// and otherwise by the region that computes them.
// CHECK-LABEL: @rounds_what_it_computes(
func.func @rounds_what_it_computes(%x: !even) -> !even {
  %w = attn.get_weight @even : tensor<32x32xf32>
  // CHECK: %[[ROWS:.*]] = attn.fused({{.*}} -> tensor<?x?x32xbf16
  // CHECK: %[[Y:.*]] = attn.activation relu
  // CHECK-NEXT: %[[ROUNDED:.*]] = attn.round %[[Y]]
  // CHECK-NEXT: attn.yield %[[ROUNDED]] : tensor<?x?x32xbf16
  %y = attn.fused(%x) : (!even) -> !even {
  ^bb0(%in: !even):
    %0 = attn.activation relu %in : !even
    attn.yield %0 : !even
  }
  // CHECK-NOT: attn.round
  // CHECK: attn.fused(%{{.*}}, %[[ROWS]])
  %z = attn.fused(%y, %w) : (!even, tensor<32x32xf32>) -> !even {
  ^bb0(%in: !even, %weight: tensor<32x32xf32>):
    %0 = attn.linear %in, %weight : (!even, tensor<32x32xf32>) -> !even
    attn.yield %0 : !even
  }
  return %z : !even
}

// So does attention what is merged.
// CHECK-LABEL: @rounds_what_is_merged(
func.func @rounds_what_is_merged(%s: !square, %v: !heads) -> !even {
  %w = attn.get_weight @even : tensor<32x32xf32>
  // CHECK: %[[CONTEXT:.*]] = attn.fused({{.*}} -> tensor<?x2x?x16xbf16
  // CHECK: %[[MIXED:.*]] = attn.matmul
  // CHECK-NEXT: attn.round %[[MIXED]]
  %c = attn.fused(%s, %v) : (!square, !heads) -> !heads {
  ^bb0(%scores: !square, %values: !heads):
    %0 = attn.softmax %scores : !square
    %1 = attn.matmul %0, %values : (!square, !heads) -> !heads
    attn.yield %1 : !heads
  }
  // CHECK-NOT: attn.round
  // CHECK: %[[ROWS:.*]] = attn.merge_heads %[[CONTEXT]] : {{.*}} -> tensor<?x?x32xbf16
  // CHECK: attn.fused(%{{.*}}, %[[ROWS]])
  %y = attn.merge_heads %c : (!heads) -> !even
  %z = attn.fused(%y, %w) : (!even, tensor<32x32xf32>) -> !even {
  ^bb0(%in: !even, %weight: tensor<32x32xf32>):
    %0 = attn.linear %in, %weight : (!even, tensor<32x32xf32>) -> !even
    attn.yield %0 : !even
  }
  return %z : !even
}

// What a norm reads of a kernel's memory stays as it is there.
// CHECK-LABEL: @keeps_what_a_norm_reads(
func.func @keeps_what_a_norm_reads(%x: !even, %g: tensor<32xf32>) -> (!even, !even) {
  %w = attn.get_weight @even : tensor<32x32xf32>
  // CHECK: %[[BOTH:.*]]:2 = attn.fused({{.*}} -> (tensor<?x?x32xf32, {{.*}}>, tensor<?x?x32xf32
  // CHECK: attn.fused(%[[BOTH]]#0)
  // CHECK: attn.round
  %y:2 = attn.fused(%x, %g) : (!even, tensor<32xf32>) -> (!even, !even) {
  ^bb0(%in: !even, %scale: tensor<32xf32>):
    %0 = attn.scale %in by 2.0 : !even
    %1 = attn.layer_norm %0, %scale epsilon 1.0e-5 : (!even, tensor<32xf32>) -> !even
    attn.yield %0, %1 : !even, !even
  }
  %z = attn.fused(%y#0, %w) : (!even, tensor<32x32xf32>) -> !even {
  ^bb0(%in: !even, %weight: tensor<32x32xf32>):
    %0 = attn.linear %in, %weight : (!even, tensor<32x32xf32>) -> !even
    attn.yield %0 : !even
  }
  return %y#1, %z : !even, !even
}
