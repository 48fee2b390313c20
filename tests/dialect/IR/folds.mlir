// RUN: attnc-opt --canonicalize %s | FileCheck %s

!rows = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!heads = tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>

// CHECK-LABEL: @scale_by_one_is_nothing(
// CHECK-SAME: %[[X:.*]]: tensor
func.func @scale_by_one_is_nothing(%x: !rows) -> !rows {
  // CHECK-NEXT: return %[[X]]
  %0 = attn.scale %x by 1.0 : !rows
  return %0 : !rows
}

// CHECK-LABEL: @keeps_scale_by_half
func.func @keeps_scale_by_half(%x: !rows) -> !rows {
  // CHECK-NEXT: attn.scale
  %0 = attn.scale %x by 0.5 : !rows
  return %0 : !rows
}

// CHECK-LABEL: @split_of_merge_is_nothing(
// CHECK-SAME: %[[X:.*]]: tensor
func.func @split_of_merge_is_nothing(%x: !heads) -> !heads {
  // CHECK-NEXT: return %[[X]]
  %0 = attn.merge_heads %x : (!heads) -> !rows
  %1 = attn.split_heads %0 into 2 : (!rows) -> !heads
  return %1 : !heads
}

// CHECK-LABEL: @keeps_split_into_other_heads
func.func @keeps_split_into_other_heads(%x: !heads) -> tensor<?x4x?x2xf32, #attn.axes<batch, head, source, width>> {
  // CHECK: attn.merge_heads
  // CHECK: attn.split_heads
  %0 = attn.merge_heads %x : (!heads) -> !rows
  %1 = attn.split_heads %0 into 4 : (!rows) -> tensor<?x4x?x2xf32, #attn.axes<batch, head, source, width>>
  return %1 : tensor<?x4x?x2xf32, #attn.axes<batch, head, source, width>>
}

// CHECK-LABEL: @merge_of_split_is_nothing(
// CHECK-SAME: %[[X:.*]]: tensor
func.func @merge_of_split_is_nothing(%x: !rows) -> !rows {
  // CHECK-NEXT: return %[[X]]
  %0 = attn.split_heads %x into 2 : (!rows) -> !heads
  %1 = attn.merge_heads %0 : (!heads) -> !rows
  return %1 : !rows
}

// CHECK-LABEL: @slice_of_everything_is_nothing(
// CHECK-SAME: %[[X:.*]]: tensor
func.func @slice_of_everything_is_nothing(%x: !rows) -> !rows {
  // CHECK-NEXT: return %[[X]]
  %0 = attn.slice %x at 0 width 8 : (!rows) -> !rows
  return %0 : !rows
}

// CHECK-LABEL: @keeps_slice_of_a_part
func.func @keeps_slice_of_a_part(%x: !rows) -> tensor<?x?x4xf32, #attn.axes<batch, source, width>> {
  // CHECK-NEXT: attn.slice
  %0 = attn.slice %x at 0 width 4 : (!rows) -> tensor<?x?x4xf32, #attn.axes<batch, source, width>>
  return %0 : tensor<?x?x4xf32, #attn.axes<batch, source, width>>
}

// CHECK-LABEL: @expand_of_collapse_is_nothing(
// CHECK-SAME: %[[X:.*]]: tensor
func.func @expand_of_collapse_is_nothing(%x: !rows) -> !rows {
  // CHECK-NEXT: return %[[X]]
  %0 = attn.collapse %x : (!rows) -> tensor<?x8xf32, #attn.axes<batch * source, width>>
  %1 = attn.expand %0 : (tensor<?x8xf32, #attn.axes<batch * source, width>>) -> !rows
  return %1 : !rows
}

// CHECK-LABEL: @keeps_expand_to_other_axes
func.func @keeps_expand_to_other_axes(%x: !rows) -> tensor<?x?x8xf32, #attn.axes<source, batch, width>> {
  // CHECK: attn.collapse
  // CHECK: attn.expand
  %0 = attn.collapse %x : (!rows) -> tensor<?x8xf32, #attn.axes<batch * source, width>>
  %1 = attn.expand %0 : (tensor<?x8xf32, #attn.axes<batch * source, width>>) -> tensor<?x?x8xf32, #attn.axes<source, batch, width>>
  return %1 : tensor<?x?x8xf32, #attn.axes<source, batch, width>>
}
