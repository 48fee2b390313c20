// RUN: attnc-opt --attn-merge-projections -split-input-file %s | FileCheck %s

!rows = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!heads = tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>
// The missing bias is a tensor without a name.
// CHECK-DAG: attn.weight @q_joined from ["q", "k"] rows [8, 8] : tensor<16x8xf32>
// CHECK-DAG: attn.weight @bq_joined from ["bq", ""] rows [8, 8] : tensor<16xf32>
attn.weight @q from ["q"] : tensor<8x8xf32>
attn.weight @bq from ["bq"] : tensor<8xf32>
attn.weight @k from ["k"] : tensor<8x8xf32>

// CHECK-LABEL: @makes_one_linear_of_two(
func.func @makes_one_linear_of_two(%x: !rows) -> (!heads, !heads) {
  // CHECK: %[[BOTH:.*]] = attn.linear {{.*}} -> tensor<?x?x16xf32
  // CHECK-NOT: attn.linear
  // CHECK: %[[Q:.*]] = attn.slice %[[BOTH]] at 0 width 8
  // CHECK: %[[K:.*]] = attn.slice %[[BOTH]] at 8 width 8
  // CHECK: attn.split_heads %[[Q]]
  // CHECK: attn.split_heads %[[K]]
  %wq = attn.get_weight @q : tensor<8x8xf32>
  %bq = attn.get_weight @bq : tensor<8xf32>
  %wk = attn.get_weight @k : tensor<8x8xf32>
  %q = attn.linear %x, %wq bias %bq : (!rows, tensor<8x8xf32>, tensor<8xf32>) -> !rows
  %k = attn.linear %x, %wk : (!rows, tensor<8x8xf32>) -> !rows
  %qh = attn.split_heads %q into 2 : (!rows) -> !heads
  %kh = attn.split_heads %k into 2 : (!rows) -> !heads
  return %qh, %kh : !heads, !heads
}

// CHECK-LABEL: @shares_joined_weights_between_entries(
func.func @shares_joined_weights_between_entries(%x: !rows) -> (!heads, !heads) {
  // CHECK-DAG: attn.get_weight @q_joined :
  // CHECK-DAG: attn.get_weight @bq_joined :
  %wq = attn.get_weight @q : tensor<8x8xf32>
  %bq = attn.get_weight @bq : tensor<8xf32>
  %wk = attn.get_weight @k : tensor<8x8xf32>
  %q = attn.linear %x, %wq bias %bq : (!rows, tensor<8x8xf32>, tensor<8xf32>) -> !rows
  %k = attn.linear %x, %wk : (!rows, tensor<8x8xf32>) -> !rows
  %qh = attn.split_heads %q into 2 : (!rows) -> !heads
  %kh = attn.split_heads %k into 2 : (!rows) -> !heads
  return %qh, %kh : !heads, !heads
}

// CHECK-LABEL: @keeps_linears_with_an_epilogue(
func.func @keeps_linears_with_an_epilogue(%x: !rows) -> !rows {
  // CHECK: attn.linear
  // CHECK: attn.linear
  %wq = attn.get_weight @q : tensor<8x8xf32>
  %wk = attn.get_weight @k : tensor<8x8xf32>
  %gate = attn.linear %x, %wq : (!rows, tensor<8x8xf32>) -> !rows
  %up = attn.linear %x, %wk : (!rows, tensor<8x8xf32>) -> !rows
  %open = attn.activation silu %gate : !rows
  %y = attn.mul %open, %up : !rows
  return %y : !rows
}

// -----

!rows = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!heads = tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>
attn.weight @q from ["q"] : tensor<8x8xf32>
attn.weight @k from ["k"] transposed : tensor<8x8xf32>

// CHECK-LABEL: @keeps_weights_that_are_stored_otherwise(
func.func @keeps_weights_that_are_stored_otherwise(%x: !rows) -> (!heads, !heads) {
  // CHECK: attn.linear
  // CHECK: attn.linear
  %wq = attn.get_weight @q : tensor<8x8xf32>
  %wk = attn.get_weight @k : tensor<8x8xf32>
  %q = attn.linear %x, %wq : (!rows, tensor<8x8xf32>) -> !rows
  %k = attn.linear %x, %wk : (!rows, tensor<8x8xf32>) -> !rows
  %qh = attn.split_heads %q into 2 : (!rows) -> !heads
  %kh = attn.split_heads %k into 2 : (!rows) -> !heads
  return %qh, %kh : !heads, !heads
}

// -----

!memory = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!target = tensor<?x2x?x4xf32, #attn.axes<batch, head, target, width>>
!heads = tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>
!scores = tensor<?x2x?x?xf32, #attn.axes<batch, head, target, source>>
attn.weight @k from ["k"] : tensor<8x8xf32>
attn.weight @v from ["v"] : tensor<8x8xf32>
// CHECK: attn.state @keys_and_values : tensor<?x?x16xf32, #attn.axes<batch, source, width>>
// CHECK-NOT: attn.state
attn.state @keys : !memory
attn.state @values : !memory

// CHECK-LABEL: @writes_keys_and_values_of_one_source_together(
func.func @writes_keys_and_values_of_one_source_together(%memory: !memory) {
  // CHECK: %[[BOTH:.*]] = attn.linear
  // CHECK: attn.write_state %[[BOTH]], @keys_and_values
  // CHECK-NOT: attn.linear
  // CHECK: return
  %wk = attn.get_weight @k : tensor<8x8xf32>
  %wv = attn.get_weight @v : tensor<8x8xf32>
  %k = attn.linear %memory, %wk : (!memory, tensor<8x8xf32>) -> !memory
  attn.write_state %k, @keys : !memory
  %v = attn.linear %memory, %wv : (!memory, tensor<8x8xf32>) -> !memory
  attn.write_state %v, @values : !memory
  return
}

// CHECK-LABEL: @reads_its_part(
func.func @reads_its_part(%q: !target) -> !target {
  // CHECK: %[[ALL:.*]] = attn.read_state @keys_and_values
  // CHECK: attn.slice %[[ALL]] at 0 width 8
  // CHECK: %[[ALL:.*]] = attn.read_state @keys_and_values
  // CHECK: attn.slice %[[ALL]] at 8 width 8
  %k = attn.read_state @keys : !memory
  %keys = attn.split_heads %k into 2 : (!memory) -> !heads
  %s = attn.matmul %q, %keys transposed : (!target, !heads) -> !scores
  %w = attn.softmax %s : !scores
  %v = attn.read_state @values : !memory
  %values = attn.split_heads %v into 2 : (!memory) -> !heads
  %c = attn.matmul %w, %values : (!scores, !heads) -> !target
  return %c : !target
}
