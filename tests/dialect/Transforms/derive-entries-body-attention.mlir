// Attention in the body of a recurrence: `attend` computes its weights once more, as an output of the loop.
// RUN: attnc-opt -attn-derive-entries %s | FileCheck %s
// RUN: attnc-opt -attn-planned %s | FileCheck %s --check-prefix=PLANNED

!ids = tensor<?x?xi32, #attn.axes<batch, target>>
!lengths = tensor<?xi32, #attn.axes<batch>>
!source = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!target = tensor<?x?x8xf32, #attn.axes<batch, target, width>>
!one = tensor<?x1x8xf32, #attn.axes<batch, query, width>>
!head = tensor<?x1x1x8xf32, #attn.axes<batch, head, query, width>>
!heads = tensor<?x1x?x8xf32, #attn.axes<batch, head, source, width>>
!scores = tensor<?x1x1x?xf32, #attn.axes<batch, head, query, source>>
!source_ids = tensor<?x?xi32, #attn.axes<batch, source>>
attn.weight @table from ["t"] : tensor<9x8xf32>

func.func @encode(%ids: !source_ids, %lengths: !lengths) -> !source {
  %table = attn.get_weight @table : tensor<9x8xf32>
  %x = attn.embed %ids, %table : (!source_ids, tensor<9x8xf32>) -> !source
  return %x : !source
}

// CHECK-LABEL: func.func @step
// CHECK: attn.recall
// CHECK: attn.softmax
// CHECK-LABEL: func.func @score
// CHECK: attn.recurrence
// CHECK-COUNT-1: attn.softmax
// CHECK-NOT: attn.softmax
// CHECK-LABEL: func.func @attend
// CHECK: %[[LOOP:.*]]:3 = attn.recurrence
// CHECK: %[[WEIGHTS:.*]] = attn.softmax
// CHECK: attn.matmul %[[WEIGHTS]]
// CHECK: %[[AGAIN:.*]] = attn.softmax
// CHECK: %[[MEAN:.*]] = attn.mean_heads %[[AGAIN]]
// CHECK: attn.yield %{{.*}}, %[[MEAN]], %{{.*}}
// CHECK: return %[[LOOP]]#1 : tensor<?x?x?xf32, #attn.axes<batch, target, source>>
// PLANNED-LABEL: func.func @attend
// PLANNED: attn.recurrence
// PLANNED: attn.call @attention{{.*}}mean{{.*}} places [#attn.place<output, <1>>]
func.func @decode(%ids: !ids, %memory: !source, %lengths: !lengths) -> !target {
  %table = attn.get_weight @table : tensor<9x8xf32>
  %x = attn.embed %ids, %table : (!ids, tensor<9x8xf32>) -> !target
  %zeros = attn.zeros for %lengths width 8 : (!lengths) -> !one
  %y, %last = attn.recurrence over (%x) init (%zeros) with (%memory, %lengths) : (!target, !one, !source, !lengths) -> (!target, !one) {
  ^bb0(%now: !one, %state: !one, %rows: !source, %ends: !lengths):
    %query = attn.split_heads %state into 1 : (!one) -> !head
    %keys = attn.split_heads %rows into 1 : (!source) -> !heads
    %scores = attn.matmul %query, %keys transposed : (!head, !heads) -> !scores
    %masked = attn.padding_mask %scores, %ends : (!scores, !lengths) -> !scores
    %weights = attn.softmax %masked : !scores
    %head = attn.matmul %weights, %keys : (!scores, !heads) -> !head
    %context = attn.merge_heads %head : (!head) -> !one
    %next = attn.add %now, %context : !one
    attn.yield %next, %next : !one, !one
  }
  return %y : !target
}
