// A recurrent decoder's step applies the cell once; its state is kept for each slot.
// RUN: attnc-opt -attn-derive-entries %s | FileCheck %s
// RUN: attnc-opt -attn-planned %s | FileCheck %s --check-prefix=PLANNED

!ids = tensor<?x?xi32, #attn.axes<batch, target>>
!lengths = tensor<?xi32, #attn.axes<batch>>
!source = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!target = tensor<?x?x8xf32, #attn.axes<batch, target, width>>
!one = tensor<?x1x8xf32, #attn.axes<batch, query, width>>
!source_ids = tensor<?x?xi32, #attn.axes<batch, source>>
attn.weight @table from ["t"] : tensor<9x8xf32>

// CHECK: attn.state @source_0 : tensor<?x1x8xf32, #attn.axes<batch, query, width>>
// CHECK: attn.state @recurrent_0 : tensor<?x2x1x8xf32, #attn.axes<slot, ring, head, width>>

// CHECK-LABEL: func.func @encode
// CHECK: %[[LOOP:.*]]:2 = attn.recurrence {{.*}} lengths
// CHECK: attn.write_state %[[LOOP]]#1, @source_0
// PLANNED-LABEL: func.func @encode
// PLANNED: attn.call @zeros_8{{.*}} places [#attn.place<arena, <[[STATE:.*]]>>]
// PLANNED: attn.call @live
// PLANNED: attn.recurrence {{.*}} places [#attn.place<arena, <{{.*}}batch * source>>]
// PLANNED: attn.call @where_8({{.*}} places [#attn.place<output, <0>>
// PLANNED: attn.call @copy{{.*}} places [#attn.place<arena, <[[STATE]]>>]
func.func @encode(%ids: !source_ids, %lengths: !lengths) -> !one {
  %table = attn.get_weight @table : tensor<9x8xf32>
  %x = attn.embed %ids, %table : (!source_ids, tensor<9x8xf32>) -> !source
  %zeros = attn.zeros for %lengths width 8 : (!lengths) -> !one
  %y, %last = attn.recurrence over (%x) init (%zeros) lengths %lengths : (!source, !one, !lengths) -> (!source, !one) {
  ^bb0(%now: !one, %state: !one):
    %next = attn.add %now, %state : !one
    attn.yield %next, %next : !one, !one
  }
  return %last : !one
}

// CHECK-LABEL: func.func @step
// CHECK: %[[SHARED:.*]] = attn.read_state @source_0
// CHECK: %[[INITIAL:.*]] = attn.take %[[SHARED]]
// CHECK: %[[CACHE:.*]] = attn.read_state @recurrent_0
// CHECK: %[[STATE:.*]] = attn.recall %[[CACHE]], %{{.*}} at %{{.*}} else %[[INITIAL]]
// CHECK: %[[NEXT:.*]] = attn.add %{{.*}}, %[[STATE]]
// CHECK: %[[FRESH:.*]] = attn.split_heads %[[NEXT]] into 1
// CHECK: %[[AFTER:.*]] = attn.append %[[FRESH]]
// CHECK: attn.write_state %[[AFTER]], @recurrent_0
// CHECK-LABEL: func.func @score
// CHECK: attn.recurrence
func.func @decode(%ids: !ids, %initial: !one, %lengths: !lengths) -> !target {
  %table = attn.get_weight @table : tensor<9x8xf32>
  %x = attn.embed %ids, %table : (!ids, tensor<9x8xf32>) -> !target
  %y, %last = attn.recurrence over (%x) init (%initial) : (!target, !one) -> (!target, !one) {
  ^bb0(%now: !one, %state: !one):
    %next = attn.add %now, %state : !one
    attn.yield %next, %next : !one, !one
  }
  return %y : !target
}
