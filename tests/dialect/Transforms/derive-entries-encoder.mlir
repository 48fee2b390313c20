// RUN: attnc-opt --attn-derive-entries %s | FileCheck %s

// An encoder that stands alone has nothing to step; its logits become best tokens, or all of them.
module {
  attn.weight @w from ["w"] : tensor<43x8xf32>
  // CHECK-LABEL: func.func @predict(
  // CHECK-SAME: {attn.name = "rows"}
  // CHECK-SAME: {attn.name = "scores"}
  // CHECK-SAME: {attn.name = "candidates"}
  // CHECK: %[[LOGITS:.*]] = attn.linear
  // CHECK: %[[P:.*]] = attn.log_softmax %[[LOGITS]]
  // CHECK: %[[BEST:.*]], %[[IDS:.*]] = attn.top_k %[[P]]
  // CHECK: return %[[BEST]], %[[IDS]]
  func.func @predict(%hidden: tensor<?x8xf32, #attn.axes<row, width>> {attn.name = "hidden"},
                     %rows: tensor<?xi32, #attn.axes<row>> {attn.name = "rows"})
      -> (tensor<?x43xf32, #attn.axes<row, width>> {attn.name = "logits"}) {
    %w = attn.get_weight @w : tensor<43x8xf32>
    %x = attn.take %hidden, %rows : (tensor<?x8xf32, #attn.axes<row, width>>, tensor<?xi32, #attn.axes<row>>) -> tensor<?x8xf32, #attn.axes<row, width>>
    %logits = attn.linear %x, %w : (tensor<?x8xf32, #attn.axes<row, width>>, tensor<43x8xf32>) -> tensor<?x43xf32, #attn.axes<row, width>>
    return %logits : tensor<?x43xf32, #attn.axes<row, width>>
  }
  // CHECK-LABEL: func.func @logits(
  // CHECK-SAME: {attn.name = "logits"}
  // CHECK-SAME: {attn.name = "log_sums"}
  // CHECK: %[[ALL:.*]] = attn.linear
  // CHECK-NEXT: %[[SUM:.*]] = attn.log_sum_exp %[[ALL]]
  // CHECK-NEXT: return %[[ALL]], %[[SUM]]
}
