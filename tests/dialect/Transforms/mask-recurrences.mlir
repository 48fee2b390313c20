// RUN: attnc-opt -attn-mask-recurrences %s | FileCheck %s

!lengths = tensor<?xi32, #attn.axes<batch>>
!source = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!one = tensor<?x1x8xf32, #attn.axes<batch, query, width>>

// CHECK-LABEL: @ended_rows_keep_their_state_and_give_zeros
func.func @ended_rows_keep_their_state_and_give_zeros(%x: !source, %h: !one, %lengths: !lengths) -> (!source, !one) {
  // CHECK: %[[LIVE:.*]] = attn.live %{{.*}}, %{{.*}}
  // CHECK: attn.recurrence over(%{{.*}}, %[[LIVE]]) init(%{{.*}}) reverse
  // CHECK-NEXT: ^bb0(%{{.*}}, %[[NOW:.*]]: tensor<?x1xi32, {{.*}}>, %[[STATE:.*]]: {{.*}}):
  %y, %last = attn.recurrence over (%x) init (%h) lengths %lengths reverse : (!source, !one, !lengths) -> (!source, !one) {
  ^bb0(%now: !one, %state: !one):
    // CHECK: %[[NEXT:.*]] = attn.add
    %next = attn.add %now, %state : !one
    // CHECK: %[[OUTPUT:.*]] = attn.where %[[NOW]], %[[NEXT]] :
    // CHECK: %[[KEPT:.*]] = attn.where %[[NOW]], %[[NEXT]] else %[[STATE]] :
    // CHECK: attn.yield %[[OUTPUT]], %[[KEPT]]
    attn.yield %next, %next : !one, !one
  }
  return %y, %last : !source, !one
}
