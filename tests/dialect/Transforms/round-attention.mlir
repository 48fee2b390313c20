// RUN: attnc-opt --attn-round-attention -verify-diagnostics %s | FileCheck %s

!ids = tensor<?xi32, #attn.axes<row>>
!table = tensor<?x?xi32, #attn.axes<row, capacity>>
!fresh = tensor<?x2x1x4xf32, #attn.axes<row, head, query, width>>
!cache = tensor<?x?x2x4xf32, #attn.axes<slot, capacity, head, width>>
!history = tensor<?x2x?x4xf32, #attn.axes<row, head, history, width>>
!scores = tensor<?x2x1x?xf32, #attn.axes<row, head, query, history>>
!x = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!heads = tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>
!of_source = tensor<?x2x1x?xf32, #attn.axes<batch, head, query, source>>
!q = tensor<?x2x1x4xf32, #attn.axes<batch, head, query, width>>
!wide = tensor<?x?x16xf32, #attn.axes<batch, source, width>>
!square = tensor<?x2x?x?xf32, #attn.axes<batch, head, source, source>>

// CHECK: module
// CHECK-NOT: attn.rounds_caches
module attributes {attn.rounds_caches} {

// CHECK: attn.state @keys : tensor<?x?x2x4xbf16, #attn.axes<slot, capacity, head, width>>
attn.state @keys : !cache
// CHECK-NEXT: attn.state @source : tensor<?x?x8xbf16, #attn.axes<batch, source, width>>
attn.state @source : !x
// CHECK-NEXT: attn.state @read_as_rows : tensor<?x?x8xf32
// expected-remark @below {{not rounded: 'attn.linear' makes or reads it}}
attn.state @read_as_rows : !x
// CHECK-NEXT: attn.state @on_the_left : tensor<?x?x8xf32
// expected-remark @below {{not rounded: 'attn.matmul' makes or reads it}}
attn.state @on_the_left : !x
// CHECK-NEXT: attn.state @normed : tensor<?x?x8xf32
// expected-remark @below {{not rounded: 'attn.fused' makes or reads it}}
attn.state @normed : !x
// CHECK-NEXT: attn.state @from_outside : tensor<?x?x8xf32
// expected-remark @below {{not rounded: 'func.func' makes or reads it}}
attn.state @from_outside : !x

// What is appended is rounded, and attention reads it as it is after that.
// CHECK-LABEL: @appends(
func.func @appends(%f: !fresh, %a: !table, %p: !ids) -> !scores {
  // CHECK: %[[BEFORE:.*]] = attn.read_state @keys : tensor<?x?x2x4xbf16
  %before = attn.read_state @keys : !cache
  // CHECK: %[[AFTER:.*]] = attn.fused(%{{.*}}, %[[BEFORE]], %{{.*}}) : {{.*}} -> tensor<?x?x2x4xbf16
  // CHECK-NEXT: ^bb0(%[[FRESH:[^:,]+]]: tensor<?x2x1x4xf32, {{.*}}>, %[[CACHE:[^:,]+]]: tensor<?x?x2x4xbf16
  // CHECK-NEXT: %[[ROUNDED:.*]] = attn.round %[[FRESH]]
  // CHECK-NEXT: %[[NEXT:.*]] = attn.append %[[ROUNDED]], %[[CACHE]]
  // CHECK-NEXT: attn.yield %[[NEXT]] : tensor<?x?x2x4xbf16
  %after = attn.fused(%f, %before, %p) : (!fresh, !cache, !ids) -> !cache {
  ^bb0(%in: !fresh, %cache: !cache, %at: !ids):
    %0 = attn.append %in, %cache at %at : (!fresh, !cache, !ids) -> !cache
    attn.yield %0 : !cache
  }
  // CHECK: attn.write_state %[[AFTER]], @keys : tensor<?x?x2x4xbf16
  attn.write_state %after, @keys : !cache
  // CHECK: attn.fused(%{{.*}}, %[[AFTER]], %{{.*}})
  // CHECK: %[[HISTORY:.*]] = attn.lookup {{.*}} -> tensor<?x2x?x4xbf16, #attn.axes<row, head, history, width>>
  // CHECK-NEXT: attn.matmul %{{.*}}, %[[HISTORY]] transposed : {{.*}} -> tensor<?x2x1x?xf32
  %scores = attn.fused(%f, %after, %a) : (!fresh, !cache, !table) -> !scores {
  ^bb0(%in: !fresh, %cache: !cache, %table: !table):
    %0 = attn.lookup %cache, %table : (!cache, !table) -> !history
    %1 = attn.matmul %in, %0 transposed : (!fresh, !history) -> !scores
    attn.yield %1 : !scores
  }
  return %scores : !scores
}

// The region that computes a state rounds it; views stand between it and its readers.
// CHECK-LABEL: @writes(
func.func @writes(%x: !x, %g: tensor<8xf32>) {
  // CHECK: %[[ROUNDED:.*]] = attn.round %{{.*}} : (tensor<?x?x8xf32, {{.*}}) -> tensor<?x?x8xbf16
  // CHECK-NEXT: attn.yield %[[ROUNDED]], %{{.*}} : tensor<?x?x8xbf16, {{.*}}>, tensor<?x?x8xf32
  %0:2 = attn.fused(%x) : (!x) -> (!x, !x) {
  ^bb0(%in: !x):
    %1 = attn.scale %in by 2.0 : !x
    %2 = attn.scale %in by 3.0 : !x
    attn.yield %1, %2 : !x, !x
  }
  // CHECK: attn.write_state %{{.*}}#0, @source : tensor<?x?x8xbf16
  attn.write_state %0#0, @source : !x
  attn.write_state %0#1, @read_as_rows : !x
  %2 = attn.fused(%x) : (!x) -> !x {
  ^bb0(%in: !x):
    %1 = attn.scale %in by 2.0 : !x
    attn.yield %1 : !x
  }
  attn.write_state %2, @on_the_left : !x
  attn.write_state %x, @from_outside : !x
  // A norm reads from memory what this would write.
  %3:2 = attn.fused(%x, %g) : (!x, tensor<8xf32>) -> (!x, !x) {
  ^bb0(%in: !x, %weight: tensor<8xf32>):
    %1 = attn.scale %in by 2.0 : !x
    %4 = attn.layer_norm %1, %weight epsilon 1.0e-5 : (!x, tensor<8xf32>) -> !x
    attn.yield %1, %4 : !x, !x
  }
  attn.write_state %3#0, @normed : !x
  return
}

// CHECK-LABEL: @reads(
func.func @reads(%q: !q, %w: tensor<8x8xf32>) -> (!of_source, !x) {
  %0 = attn.read_state @source : !x
  // CHECK: %[[HEADS:.*]] = attn.split_heads {{.*}} -> tensor<?x2x?x4xbf16
  %1 = attn.split_heads %0 into 2 : (!x) -> !heads
  // CHECK: attn.fused(%{{.*}}, %[[HEADS]])
  // CHECK-NEXT: ^bb0(%{{.*}}: {{.*}}, %[[K:[^:,]+]]: tensor<?x2x?x4xbf16
  // CHECK-NEXT: attn.matmul %{{.*}}, %[[K]] transposed
  %2 = attn.fused(%q, %1) : (!q, !heads) -> !of_source {
  ^bb0(%in: !q, %keys: !heads):
    %3 = attn.matmul %in, %keys transposed : (!q, !heads) -> !of_source
    attn.yield %3 : !of_source
  }
  %4 = attn.read_state @read_as_rows : !x
  %5 = attn.fused(%4, %w) : (!x, tensor<8x8xf32>) -> !x {
  ^bb0(%in: !x, %weight: tensor<8x8xf32>):
    %6 = attn.linear %in, %weight : (!x, tensor<8x8xf32>) -> !x
    attn.yield %6 : !x
  }
  %7 = attn.read_state @on_the_left : !x
  %8 = attn.split_heads %7 into 2 : (!x) -> !heads
  %9 = attn.fused(%8) : (!heads) -> tensor<?x2x?x?xf32, #attn.axes<batch, head, source, source>> {
  ^bb0(%in: !heads):
    %10 = attn.matmul %in, %in transposed : (!heads, !heads) -> tensor<?x2x?x?xf32, #attn.axes<batch, head, source, source>>
    attn.yield %10 : tensor<?x2x?x?xf32, #attn.axes<batch, head, source, source>>
  }
  return %2, %5 : !of_source, !x
}

// What only rounded products read is rounded by the region that computes it, whole: they read views of it.
// CHECK-LABEL: @computes(
func.func @computes(%x: !wide) -> !square {
  // CHECK: %[[ALL:.*]] = attn.fused(%{{.*}}) : {{.*}} -> tensor<?x?x16xbf16
  // CHECK: %[[SCALED:.*]] = attn.scale
  // CHECK-NEXT: %[[ROUNDED:.*]] = attn.round %[[SCALED]]
  // CHECK-NEXT: attn.yield %[[ROUNDED]] : tensor<?x?x16xbf16
  %0 = attn.fused(%x) : (!wide) -> !wide {
  ^bb0(%in: !wide):
    %1 = attn.scale %in by 2.0 : !wide
    attn.yield %1 : !wide
  }
  // CHECK: attn.slice %[[ALL]] at 0 width 8 : {{.*}} -> tensor<?x?x8xbf16
  // CHECK: %[[Q:.*]] = attn.split_heads {{.*}} -> tensor<?x2x?x4xbf16
  %q = attn.slice %0 at 0 width 8 : (!wide) -> !x
  %queries = attn.split_heads %q into 2 : (!x) -> !heads
  // CHECK: %[[K:.*]] = attn.split_heads {{.*}} -> tensor<?x2x?x4xbf16
  %k = attn.slice %0 at 8 width 8 : (!wide) -> !x
  %keys = attn.split_heads %k into 2 : (!x) -> !heads
  // CHECK: attn.fused(%[[Q]], %[[K]])
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<?x2x?x4xbf16, {{.*}}>, %{{.*}}: tensor<?x2x?x4xbf16
  // CHECK-NEXT: attn.matmul {{.*}} transposed rounded : {{.*}} -> tensor<?x2x?x?xf32
  %2 = attn.fused(%queries, %keys) : (!heads, !heads) -> !square {
  ^bb0(%left: !heads, %right: !heads):
    %3 = attn.matmul %left, %right transposed rounded : (!heads, !heads) -> !square
    %4 = attn.softmax %3 : !square
    attn.yield %4 : !square
  }
  return %2 : !square
}

// One query multiplies in float32, whatever the product says, and so do keys that are read by it and by many.
// CHECK-LABEL: @computes_for_one_query(
func.func @computes_for_one_query(%x: !wide, %one: !q) -> (!of_source, !square) {
  // CHECK-NOT: attn.round
  %0 = attn.fused(%x) : (!wide) -> !wide {
  ^bb0(%in: !wide):
    %1 = attn.scale %in by 2.0 : !wide
    attn.yield %1 : !wide
  }
  %k = attn.slice %0 at 8 width 8 : (!wide) -> !x
  %keys = attn.split_heads %k into 2 : (!x) -> !heads
  // CHECK: attn.matmul {{.*}} transposed rounded : (tensor<?x2x1x4xf32, {{.*}}>, tensor<?x2x?x4xf32
  %2 = attn.fused(%one, %keys) : (!q, !heads) -> !of_source {
  ^bb0(%left: !q, %right: !heads):
    %5 = attn.matmul %left, %right transposed rounded : (!q, !heads) -> !of_source
    %6 = attn.softmax %5 : !of_source
    attn.yield %6 : !of_source
  }
  // CHECK: attn.matmul {{.*}} transposed rounded : (tensor<?x2x?x4xf32, {{.*}}>, tensor<?x2x?x4xf32
  %3 = attn.fused(%keys) : (!heads) -> !square {
  ^bb0(%both: !heads):
    %5 = attn.matmul %both, %both transposed rounded : (!heads, !heads) -> !square
    %6 = attn.softmax %5 : !square
    attn.yield %6 : !square
  }
  return %2, %3 : !of_source, !square
}

// Not where something else reads a part of it, or a product that does not round or is not attention's.
// CHECK-LABEL: @computes_for_others(
func.func @computes_for_others(%x: !wide) -> (!square, !square, !x, !square) {
  // CHECK-NOT: attn.round
  %0:3 = attn.fused(%x) : (!wide) -> (!wide, !wide, !wide) {
  ^bb0(%in: !wide):
    %1 = attn.scale %in by 2.0 : !wide
    %2 = attn.scale %in by 3.0 : !wide
    %3 = attn.scale %in by 4.0 : !wide
    attn.yield %1, %2, %3 : !wide, !wide, !wide
  }
  %q = attn.slice %0#0 at 0 width 8 : (!wide) -> !x
  %queries = attn.split_heads %q into 2 : (!x) -> !heads
  %k = attn.slice %0#1 at 0 width 8 : (!wide) -> !x
  %keys = attn.split_heads %k into 2 : (!x) -> !heads
  // CHECK: attn.matmul {{.*}} transposed rounded : (tensor<?x2x?x4xf32, {{.*}}>, tensor<?x2x?x4xf32
  %3 = attn.fused(%queries, %keys) : (!heads, !heads) -> !square {
  ^bb0(%left: !heads, %right: !heads):
    %5 = attn.matmul %left, %right transposed rounded : (!heads, !heads) -> !square
    %6 = attn.softmax %5 : !square
    attn.yield %6 : !square
  }
  %4 = attn.fused(%keys) : (!heads) -> !square {
  ^bb0(%both: !heads):
    %5 = attn.matmul %both, %both transposed : (!heads, !heads) -> !square
    %6 = attn.softmax %5 : !square
    attn.yield %6 : !square
  }
  %a = attn.slice %0#2 at 0 width 8 : (!wide) -> !x
  %alike = attn.split_heads %a into 2 : (!x) -> !heads
  %7 = attn.fused(%alike) : (!heads) -> !square {
  ^bb0(%both: !heads):
    %5 = attn.matmul %both, %both transposed rounded : (!heads, !heads) -> !square
    attn.yield %5 : !square
  }
  return %3, %4, %q, %7 : !square, !square, !x, !square
}

}
