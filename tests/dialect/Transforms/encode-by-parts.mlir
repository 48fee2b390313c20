// RUN: attnc-opt --attn-encode-by-parts --attn-plan-memory --split-input-file %s | FileCheck %s

// What is encoded goes to its sentences' place in the states, which have room for all of the batch.
// CHECK: attn.sizes = ["batch", "first", "length", "part", "row", "source"]
// CHECK-SAME: attn.state_bytes = #attn.size<128 * batch * source>
!x = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!narrow = tensor<?x?x16xf32, #attn.axes<batch, source, width>>
!rows = tensor<?x8xf32, #attn.axes<batch * source, width>>
!wide = tensor<?x16xf32, #attn.axes<batch * source, width>>
attn.state @keys : !x
attn.state @values : !narrow
attn.kernel @rows {
^bb0(%in: tensor<?x8xf32, #attn.axes<row, width>>):
  attn.yield %in : tensor<?x8xf32, #attn.axes<row, width>>
}
attn.kernel @widen {
^bb0(%in: tensor<?x8xf32, #attn.axes<row, width>>, %weight: tensor<16x8xf32>):
  %0 = attn.linear %in, %weight : (tensor<?x8xf32, #attn.axes<row, width>>, tensor<16x8xf32>) -> tensor<?x16xf32, #attn.axes<row, width>>
  attn.yield %0 : tensor<?x16xf32, #attn.axes<row, width>>
}
attn.weight @w from ["w"] : tensor<16x8xf32>

// CHECK-LABEL: func.func @encode(
// CHECK-SAME: tensor<?x?x8xf32, #attn.axes<part, length, width>>
// CHECK-SAME: attn.arena = #attn.size<0>
// CHECK: attn.collapse {{.*}} -> tensor<?x8xf32, #attn.axes<length * part, width>>
// CHECK: attn.call @rows({{.*}}) places [#attn.place<state, <32 * first * source>>]
// CHECK: attn.write_state %{{.*}}, @keys : tensor<?x?x8xf32, #attn.axes<part, length, width>>
// CHECK: attn.call @widen({{.*}}) places [#attn.place<state, <64 * batch * source + 64 * first * source>>]
func.func @encode(%x: !x) {
  %0 = attn.collapse %x : (!x) -> !rows
  %1 = attn.call @rows(%0) : (!rows) -> !rows
  %2 = attn.expand %1 : (!rows) -> !x
  attn.write_state %2, @keys : !x
  %w = attn.get_weight @w : tensor<16x8xf32>
  %3 = attn.call @widen(%0, %w) : (!rows, tensor<16x8xf32>) -> !wide
  %4 = attn.expand %3 : (!wide) -> !narrow
  attn.write_state %4, @values : !narrow
  return
}
// CHECK-LABEL: func.func @step(
// CHECK: attn.read_state @keys : tensor<?x?x8xf32, #attn.axes<batch, source, width>>
func.func @step(%sources: tensor<?xi32, #attn.axes<row>>) {
  %0 = attn.read_state @keys : !x
  return
}

// -----

// An encoder without states, as one that stands alone, gives what it computes to the caller.
// CHECK: attn.sizes = ["batch"]
!row = tensor<?x8xf32, #attn.axes<batch, width>>
attn.kernel @rows {
^bb0(%in: tensor<?x8xf32, #attn.axes<row, width>>):
  attn.yield %in : tensor<?x8xf32, #attn.axes<row, width>>
}
// CHECK-LABEL: func.func @encode(
// CHECK-SAME: tensor<?x8xf32, #attn.axes<batch, width>>
func.func @encode(%x: !row) -> !row {
  %0 = attn.call @rows(%x) : (!row) -> !row
  return %0 : !row
}

// -----

// A state that is not kept sentence by sentence is written for all of them.
// CHECK: attn.sizes = ["batch", "row"]
!table = tensor<?x?xf32, #attn.axes<row, batch>>
attn.state @table : !table
attn.kernel @copy {
^bb0(%in: !table):
  attn.yield %in : !table
}
// CHECK-LABEL: func.func @encode(
// CHECK-SAME: tensor<?x?xf32, #attn.axes<row, batch>>
func.func @encode(%x: !table) {
  %0 = attn.call @copy(%x) : (!table) -> !table
  attn.write_state %0, @table : !table
  return
}

// -----

// A recurrence is the faster, the more sentences it goes over together.
// CHECK: attn.sizes = ["batch", "source"]
!x = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!one = tensor<?x1x8xf32, #attn.axes<batch, query, width>>
attn.state @memory : !x
attn.kernel @sum {
^bb0(%a: !one, %b: !one):
  %0 = attn.add %a, %b : !one
  attn.yield %0 : !one
}
attn.kernel @copy {
^bb0(%in: !x):
  attn.yield %in : !x
}
attn.kernel @copy_one {
^bb0(%in: !one):
  attn.yield %in : !one
}
// CHECK-LABEL: func.func @encode(
// CHECK-SAME: tensor<?x?x8xf32, #attn.axes<batch, source, width>>
func.func @encode(%x: !x, %h: !one) {
  %initial = attn.call @copy_one(%h) : (!one) -> !one
  %y, %last = attn.recurrence over (%x) init (%initial) : (!x, !one) -> (!x, !one) {
  ^bb0(%now: !one, %state: !one):
    %output = attn.call @sum(%now, %state) : (!one, !one) -> !one
    %next = attn.call @copy_one(%output) : (!one) -> !one
    attn.yield %output, %next : !one, !one
  }
  %0 = attn.call @copy(%y) : (!x) -> !x
  attn.write_state %0, @memory : !x
  return
}

// -----

// A state whose sources lie within its heads could not be written sentence by sentence.
// CHECK: attn.sizes = ["batch", "source"]
!turned = tensor<?x2x?xf32, #attn.axes<batch, head, source>>
attn.state @turned : !turned
attn.kernel @copy {
^bb0(%in: !turned):
  attn.yield %in : !turned
}
// CHECK-LABEL: func.func @encode(
// CHECK-SAME: tensor<?x2x?xf32, #attn.axes<batch, head, source>>
func.func @encode(%x: !turned) {
  %0 = attn.call @copy(%x) : (!turned) -> !turned
  attn.write_state %0, @turned : !turned
  return
}

// -----

// Prompts fill the slots from the first one of the part on.
// CHECK: attn.sizes = ["capacity", "first", "length", "part", "slot"]
!ids = tensor<?x?xi32, #attn.axes<batch, source>>
!heads = tensor<?x2x?x4xf32, #attn.axes<batch, head, source, width>>
!cache = tensor<?x?x2x4xf32, #attn.axes<slot, capacity, head, width>>
attn.state @keys : !cache
attn.state @values : !cache
attn.weight @table from ["table"] : tensor<9x8xf32>
attn.kernel @embed {
^bb0(%in: tensor<?x?xi32, #attn.axes<batch, query>>, %table: tensor<9x8xf32>):
  %0 = attn.embed %in, %table : (tensor<?x?xi32, #attn.axes<batch, query>>, tensor<9x8xf32>) -> tensor<?x?x8xf32, #attn.axes<batch, query, width>>
  attn.yield %0 : tensor<?x?x8xf32, #attn.axes<batch, query, width>>
}
attn.kernel @append {
^bb0(%fresh: tensor<?x2x?x4xf32, #attn.axes<row, head, query, width>>, %in: !cache, %at: tensor<?xi32, #attn.axes<row>>):
  %0 = attn.append %fresh, %in at %at : (tensor<?x2x?x4xf32, #attn.axes<row, head, query, width>>, !cache, tensor<?xi32, #attn.axes<row>>) -> !cache
  attn.yield %0 : !cache
}
// CHECK-LABEL: func.func @prefill(
// CHECK-SAME: tensor<?x?xi32, #attn.axes<part, length>>
// CHECK-SAME: tensor<?xi32, #attn.axes<part>>
// CHECK: attn.read_state @values : tensor<?x?x2x4xf32, #attn.axes<part, capacity, head, width>>
// CHECK: attn.call @append({{.*}}) places [#attn.place<state, <32 * capacity * first + 64 * capacity * slot>>]
// CHECK: attn.write_state {{.*}}, @values : tensor<?x?x2x4xf32, #attn.axes<part, capacity, head, width>>
func.func @prefill(%ids: !ids, %positions: tensor<?xi32, #attn.axes<batch>>) {
  %t = attn.get_weight @table : tensor<9x8xf32>
  %x = attn.call @embed(%ids, %t) : (!ids, tensor<9x8xf32>) -> tensor<?x?x8xf32, #attn.axes<batch, source, width>>
  %h = attn.split_heads %x into 2 : (tensor<?x?x8xf32, #attn.axes<batch, source, width>>) -> !heads
  %c = attn.read_state @values : !cache
  %new = attn.call @append(%h, %c, %positions) : (!heads, !cache, tensor<?xi32, #attn.axes<batch>>) -> !cache
  attn.write_state %new, @values : !cache
  return
}

// -----

// A graph may be called so.
// CHECK-LABEL: func.func @prefill(
// CHECK-SAME: tensor<?x?x8xf32, #attn.axes<batch, source, width>>
!x = tensor<?x?x8xf32, #attn.axes<batch, source, width>>
attn.kernel @copy {
^bb0(%in: !x):
  attn.yield %in : !x
}
func.func @prefill(%x: !x) -> !x attributes {attn.graph} {
  %0 = attn.call @copy(%x) : (!x) -> !x
  return %0 : !x
}
