// RUN: attnc-opt --attn-derive-entries %S/../Inputs/tiny.mlir | FileCheck %s

// What depends on the source alone is computed by encode and kept.
// CHECK-DAG: attn.state @cross_keys_0 : tensor<?x?x64xf32, #attn.axes<batch, source, width>>
// CHECK-DAG: attn.state @cross_values_0 : tensor<?x?x64xf32, #attn.axes<batch, source, width>>
// CHECK-DAG: attn.state @keys_0 : tensor<?x?x4x16xf32, #attn.axes<slot, capacity, head, width>>
// CHECK-DAG: attn.state @values_0 : tensor<?x?x4x16xf32, #attn.axes<slot, capacity, head, width>>

// CHECK-LABEL: func.func @encode(
// CHECK-SAME: "source_ids"
// CHECK-SAME: {attn.name = "source_lengths"}) {
// CHECK: %[[MEMORY:.*]] = attn.layer_norm {{.*}}
// CHECK: %[[MEMORY:.*]] = attn.layer_norm {{.*}}
// CHECK: %[[KEYS:.*]] = attn.linear %[[MEMORY]]
// CHECK: attn.write_state %[[KEYS]], @cross_keys_0
// CHECK: %[[VALUES:.*]] = attn.linear %[[MEMORY]]
// CHECK: attn.write_state %[[VALUES]], @cross_values_0
// CHECK-NEXT: return{{$}}

// CHECK-NOT: func.func @decode

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[IDS:.*]]: tensor<?x1xi32, #attn.axes<row, query>> {attn.name = "ids"}
// CHECK-SAME: %[[POSITIONS:.*]]: tensor<?xi32, #attn.axes<row>> {attn.name = "positions"}
// CHECK-SAME: %[[SOURCES:.*]]: tensor<?xi32, #attn.axes<row>> {attn.name = "sources"}
// CHECK-SAME: %[[ANCESTORS:.*]]: tensor<?x?xi32, #attn.axes<row, capacity>> {attn.name = "ancestors"}
// CHECK-SAME: %[[LENGTHS:.*]]: tensor<?xi32, #attn.axes<batch>> {attn.name = "source_lengths"}
// CHECK-SAME: {attn.name = "scores"}
// CHECK-SAME: {attn.name = "candidates"}
// CHECK: attn.embed %[[IDS]]
// CHECK: attn.add_positions {{.*}} from %[[POSITIONS]]
// The new key goes to the cache; each row looks at its own history.
// CHECK: %[[BEFORE:.*]] = attn.read_state @keys_0
// CHECK: %[[AFTER:.*]] = attn.append %{{.*}}, %[[BEFORE]] at %[[POSITIONS]]
// CHECK: attn.write_state %[[AFTER]], @keys_0
// CHECK: %[[HISTORY:.*]] = attn.lookup %[[AFTER]], %[[ANCESTORS]]
// CHECK: %[[SCORES:.*]] = attn.matmul %{{.*}}, %[[HISTORY]] transposed
// CHECK: %[[SCALED:.*]] = attn.scale %[[SCORES]]
// The causal mask has become the end of the history.
// CHECK: %[[END:.*]] = attn.increment %[[POSITIONS]]
// CHECK: attn.padding_mask %[[SCALED]], %[[END]]
// CHECK: attn.read_state @values_0
// Keys of the source are shared by all rows of a sentence.
// CHECK: %[[SHARED:.*]] = attn.read_state @cross_keys_0
// CHECK: %[[HEADS:.*]] = attn.split_heads %[[SHARED]] into 4
// CHECK: %[[TAKEN:.*]] = attn.take %[[HEADS]], %[[SOURCES]]
// CHECK: attn.matmul %{{.*}}, %[[TAKEN]] transposed
// CHECK: %[[OWN:.*]] = attn.take %[[LENGTHS]], %[[SOURCES]]
// CHECK: attn.padding_mask %{{.*}}, %[[OWN]]
// CHECK: %[[P:.*]] = attn.log_softmax
// CHECK: %[[BEST:.*]], %[[BEST_IDS:.*]] = attn.top_k %[[P]]
// CHECK: return %[[BEST]], %[[BEST_IDS]]

// CHECK-LABEL: func.func @logits(
// CHECK: attn.append
// CHECK: %[[SUM:.*]] = attn.log_sum_exp %[[LOGITS:.*]] :
// CHECK-NEXT: return %[[LOGITS]], %[[SUM]]

// CHECK-LABEL: func.func @score(
// CHECK-SAME: %[[IDS:.*]]: tensor<?x?xi32, #attn.axes<batch, target>> {attn.name = "target_ids"}
// CHECK-SAME: %[[LABELS:.*]]: tensor<?x?xi32, #attn.axes<batch, target>> {attn.name = "labels"}
// CHECK-NOT: attn.append
// CHECK-NOT: attn.take
// CHECK: attn.causal_mask
// CHECK: %[[P:.*]] = attn.log_softmax
// CHECK: %[[PICKED:.*]] = attn.pick %[[P]], %[[LABELS]]
// CHECK-NEXT: return %[[PICKED]]

// CHECK-LABEL: func.func @attend(
// Nothing after the last cross-attention's weights is left.
// CHECK: %[[W:.*]] = attn.softmax
// CHECK: %[[W:.*]] = attn.softmax
// CHECK-NEXT: %[[MEAN:.*]] = attn.mean_heads %[[W]]
// CHECK-NEXT: return %[[MEAN]]
