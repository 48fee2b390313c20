// RUN: attnc-opt --attn-merge-projections -split-input-file -verify-diagnostics %s | FileCheck %s

!rows = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!heads = tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>
// The missing bias is a tensor without a name.
// CHECK-DAG: attn.weight @q_joined from ["q", "k"] rows [8, 8] : tensor<16x8xf32>
// CHECK-DAG: attn.weight @bq_joined from ["bq", ""] rows [8, 8] : tensor<16xf32>
attn.weight @q from ["q"] : tensor<8x8xf32>
attn.weight @bq from ["bq"] : tensor<8xf32>
attn.weight @k from ["k"] : tensor<8x8xf32>
attn.state @kept : !rows

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
  // expected-remark @below {{merged: 2 projections of one input are one linear}}
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
  // expected-remark @below {{merged: 2 projections of one input are one linear}}
  %q = attn.linear %x, %wq bias %bq : (!rows, tensor<8x8xf32>, tensor<8xf32>) -> !rows
  %k = attn.linear %x, %wk : (!rows, tensor<8x8xf32>) -> !rows
  %qh = attn.split_heads %q into 2 : (!rows) -> !heads
  %kh = attn.split_heads %k into 2 : (!rows) -> !heads
  return %qh, %kh : !heads, !heads
}

// One kernel computes both, so there is nothing to say.
// CHECK-LABEL: @keeps_linears_that_gate_each_other(
func.func @keeps_linears_that_gate_each_other(%x: !rows) -> !rows {
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

// CHECK-LABEL: @keeps_linears_that_can_be_no_slices(
func.func @keeps_linears_that_can_be_no_slices(%x: !rows, %g: tensor<8xf32>) -> (!rows, !rows, !rows, !heads, !rows) {
  // CHECK-COUNT-6: attn.linear
  %wq = attn.get_weight @q : tensor<8x8xf32>
  // expected-remark @below {{not merged: it is an output, so a slice would be copied}}
  %a = attn.linear %x, %wq : (!rows, tensor<8x8xf32>) -> !rows
  // expected-remark @below {{not merged: a slice would take no activation into its kernel}}
  %b = attn.linear %x, %wq : (!rows, tensor<8x8xf32>) -> !rows
  %c = attn.activation relu %b : !rows
  // expected-remark @below {{not merged: a slice would take no layer_norm into its kernel}}
  %d = attn.linear %x, %wq : (!rows, tensor<8x8xf32>) -> !rows
  %e = attn.layer_norm %d, %g epsilon 1.0e-5 : (!rows, tensor<8xf32>) -> !rows
  // expected-remark @below {{not merged: the other linears of its input can be no slices}}
  %f = attn.linear %x, %wq : (!rows, tensor<8x8xf32>) -> !rows
  %h = attn.split_heads %f into 2 : (!rows) -> !heads
  // expected-remark @below {{not merged: its reader 'concat' takes no slice}}
  %i = attn.linear %x, %wq : (!rows, tensor<8x8xf32>) -> !rows
  %j = attn.concat %i : (!rows) -> !rows
  // expected-remark @below {{not merged: it is kept in a state, so a slice would be copied}}
  %k = attn.linear %x, %wq : (!rows, tensor<8x8xf32>) -> !rows
  attn.write_state %k, @kept : !rows
  return %a, %c, %e, %h, %j : !rows, !rows, !rows, !heads, !rows
}

// CHECK-LABEL: @lets_linears_and_pointwise_work_read_slices(
func.func @lets_linears_and_pointwise_work_read_slices(%x: !rows) -> (!rows, !rows, !rows) {
  // CHECK: %[[BOTH:.*]] = attn.linear %{{.*}} -> tensor<?x?x16xf32
  // CHECK-DAG: %[[A:.*]] = attn.slice %[[BOTH]] at 0 width 8
  // CHECK-DAG: %[[B:.*]] = attn.slice %[[BOTH]] at 8 width 8
  // CHECK-DAG: attn.linear %[[A]]
  // CHECK-DAG: attn.scale %[[B]]
  // CHECK-DAG: attn.add %[[B]]
  %wq = attn.get_weight @q : tensor<8x8xf32>
  %wk = attn.get_weight @k : tensor<8x8xf32>
  // expected-remark @below {{merged: 2 projections of one input are one linear}}
  %a = attn.linear %x, %wq : (!rows, tensor<8x8xf32>) -> !rows
  %b = attn.linear %x, %wk : (!rows, tensor<8x8xf32>) -> !rows
  %c = attn.linear %a, %wk : (!rows, tensor<8x8xf32>) -> !rows
  %d = attn.scale %b by 2.0 : !rows
  %e = attn.add %b, %x : !rows
  return %c, %d, %e : !rows, !rows, !rows
}

// -----

!rows = tensor<?x?x2xf32, #attn.axes<batch, source, width>>
!heads = tensor<?x1x?x2xf32, #attn.axes<batch, head, source, width>>
// A missing bias among literal ones is zeros.
// CHECK-DAG: attn.weight @q_joined value dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00], [5.000000e+00, 5.000000e+00], [5.000000e+00, 5.000000e+00]]> : tensor<4x2xf32>
// CHECK-DAG: attn.weight @bk_joined value dense<[0.000000e+00, 0.000000e+00, 6.000000e+00, 7.000000e+00]> : tensor<4xf32>
attn.weight @q value dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32> : tensor<2x2xf32>
attn.weight @k value dense<5.0> : tensor<2x2xf32> : tensor<2x2xf32>
attn.weight @bk value dense<[6.0, 7.0]> : tensor<2xf32> : tensor<2xf32>

// CHECK-LABEL: @joins_literal_weights(
func.func @joins_literal_weights(%x: !rows) -> (!heads, !heads) {
  %wq = attn.get_weight @q : tensor<2x2xf32>
  %wk = attn.get_weight @k : tensor<2x2xf32>
  %bk = attn.get_weight @bk : tensor<2xf32>
  // expected-remark @below {{merged: 2 projections of one input are one linear}}
  %q = attn.linear %x, %wq : (!rows, tensor<2x2xf32>) -> !rows
  %k = attn.linear %x, %wk bias %bk : (!rows, tensor<2x2xf32>, tensor<2xf32>) -> !rows
  %qh = attn.split_heads %q into 1 : (!rows) -> !heads
  %kh = attn.split_heads %k into 1 : (!rows) -> !heads
  return %qh, %kh : !heads, !heads
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
  // expected-remark @below {{not merged: its weight is not stored as those of the other linears of its input are}}
  %q = attn.linear %x, %wq : (!rows, tensor<8x8xf32>) -> !rows
  // expected-remark @below {{not merged: its weight is not stored as those of the other linears of its input are}}
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

// -----

!rows = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!wide = tensor<?x?x16xf32, #attn.axes<batch, source, width>>
!heads = tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>
!more = tensor<?x4x?x4xf32, #attn.axes<batch, head, source, width>>
// A missing bias is as wide as its linear: two that begin alike are not one.
// CHECK-DAG: attn.weight @b_joined from ["b", ""] rows [8, 8] : tensor<16xf32>
// CHECK-DAG: attn.weight @b_joined_{{[0-9]+}} from ["b", ""] rows [8, 16] : tensor<24xf32>
attn.weight @w from ["w"] : tensor<8x8xf32>
attn.weight @b from ["b"] : tensor<8xf32>
attn.weight @narrow from ["narrow"] : tensor<8x8xf32>
attn.weight @wide from ["wide"] : tensor<16x8xf32>

// CHECK-LABEL: @biases_of_different_widths_are_missing(
func.func @biases_of_different_widths_are_missing(%x: !rows, %y: !rows) -> (!heads, !heads, !heads, !more) {
  %w = attn.get_weight @w : tensor<8x8xf32>
  %b = attn.get_weight @b : tensor<8xf32>
  %narrow = attn.get_weight @narrow : tensor<8x8xf32>
  %wide = attn.get_weight @wide : tensor<16x8xf32>
  // expected-remark @below {{merged: 2 projections of one input are one linear}}
  %0 = attn.linear %x, %w bias %b : (!rows, tensor<8x8xf32>, tensor<8xf32>) -> !rows
  %1 = attn.linear %x, %narrow : (!rows, tensor<8x8xf32>) -> !rows
  // expected-remark @below {{merged: 2 projections of one input are one linear}}
  %2 = attn.linear %y, %w bias %b : (!rows, tensor<8x8xf32>, tensor<8xf32>) -> !rows
  %3 = attn.linear %y, %wide : (!rows, tensor<16x8xf32>) -> !wide
  %h0 = attn.split_heads %0 into 2 : (!rows) -> !heads
  %h1 = attn.split_heads %1 into 2 : (!rows) -> !heads
  %h2 = attn.split_heads %2 into 2 : (!rows) -> !heads
  %h3 = attn.split_heads %3 into 4 : (!wide) -> !more
  return %h0, %h1, %h2, %h3 : !heads, !heads, !heads, !more
}
