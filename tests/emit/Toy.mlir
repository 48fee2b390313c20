// A planned module with every kind of view and memory; ToyKernels.c has its kernels.
module attributes {attn.sizes = ["batch", "capacity", "source"],
                   attn.state_bytes = #attn.size<64 + 128 * batch * capacity>, attn.weight_bytes = 16640 : i64} {
  attn.weight @w from ["a", "b"] rows [24, 16] at 0 : tensor<40x64xf32, #attn.panels<32>>
  attn.weight @b from ["c"] at 16384 : tensor<40xf32>
  attn.state @memory at <64> : tensor<?x?x32xf32, #attn.axes<batch, source, width>>

  attn.kernel @linear {
  ^bb0(%x: tensor<?x64xf32, #attn.axes<row, width>>, %w: tensor<40x64xf32, #attn.panels<32>>, %b: tensor<40xf32>):
    %0 = attn.linear %x, %w bias %b : (tensor<?x64xf32, #attn.axes<row, width>>, tensor<40x64xf32, #attn.panels<32>>, tensor<40xf32>) -> tensor<?x40xf32, #attn.axes<row, width>>
    attn.yield %0 : tensor<?x40xf32, #attn.axes<row, width>>
  }
  attn.kernel @add_heads {
  ^bb0(%p: tensor<?x4x?x8xf32, #attn.axes<batch, head, query, width>>, %q: tensor<?x4x?x8xf32, #attn.axes<batch, head, query, width>>):
    %0 = attn.add %p, %q : tensor<?x4x?x8xf32, #attn.axes<batch, head, query, width>>
    attn.yield %0 : tensor<?x4x?x8xf32, #attn.axes<batch, head, query, width>>
  }
  attn.kernel @twice scratch [tensor<?x32xf32, #attn.axes<row, width>>] {
  ^bb0(%x: tensor<?x32xf32, #attn.axes<row, width>>):
    %0 = attn.scale %x by 2.0 : tensor<?x32xf32, #attn.axes<row, width>>
    attn.yield %0 : tensor<?x32xf32, #attn.axes<row, width>>
  }

  func.func @encode(%x: tensor<?x?x64xf32, #attn.axes<batch, source, width>> {attn.name = "x"})
      attributes {attn.arena = #attn.size<448 * batch * source>} {
    %0 = attn.collapse %x : (tensor<?x?x64xf32, #attn.axes<batch, source, width>>) -> tensor<?x64xf32, #attn.axes<batch * source, width>>
    %w = attn.get_weight @w : tensor<40x64xf32, #attn.panels<32>>
    %b = attn.get_weight @b : tensor<40xf32>
    %1 = attn.call @linear(%0, %w, %b) places [#attn.place<arena, #attn.size<0>>] : (tensor<?x64xf32, #attn.axes<batch * source, width>>, tensor<40x64xf32, #attn.panels<32>>, tensor<40xf32>) -> tensor<?x40xf32, #attn.axes<batch * source, width>>
    %2 = attn.expand %1 : (tensor<?x40xf32, #attn.axes<batch * source, width>>) -> tensor<?x?x40xf32, #attn.axes<batch, source, width>>
    %3 = attn.slice %2 at 8 width 32 : (tensor<?x?x40xf32, #attn.axes<batch, source, width>>) -> tensor<?x?x32xf32, #attn.axes<batch, source, width>>
    %4 = attn.split_heads %3 into 4 : (tensor<?x?x32xf32, #attn.axes<batch, source, width>>) -> tensor<?x4x?x8xf32, #attn.axes<batch, head, source, width>>
    %5 = attn.call @add_heads(%4, %4) places [#attn.place<arena, #attn.size<192 * batch * source>, [0, 2, 1, 3]>] : (tensor<?x4x?x8xf32, #attn.axes<batch, head, source, width>>, tensor<?x4x?x8xf32, #attn.axes<batch, head, source, width>>) -> tensor<?x4x?x8xf32, #attn.axes<batch, head, source, width>>
    %6 = attn.merge_heads %5 : (tensor<?x4x?x8xf32, #attn.axes<batch, head, source, width>>) -> tensor<?x?x32xf32, #attn.axes<batch, source, width>>
    %7 = attn.collapse %6 : (tensor<?x?x32xf32, #attn.axes<batch, source, width>>) -> tensor<?x32xf32, #attn.axes<batch * source, width>>
    %8 = attn.call @twice(%7) places [#attn.place<state, #attn.size<64>>] scratch [#attn.place<arena, #attn.size<320 * batch * source>>] : (tensor<?x32xf32, #attn.axes<batch * source, width>>) -> tensor<?x32xf32, #attn.axes<batch * source, width>>
    %9 = attn.expand %8 : (tensor<?x32xf32, #attn.axes<batch * source, width>>) -> tensor<?x?x32xf32, #attn.axes<batch, source, width>>
    attn.write_state %9, @memory : tensor<?x?x32xf32, #attn.axes<batch, source, width>>
    return
  }
  func.func @recall() -> (tensor<?x?x32xf32, #attn.axes<batch, source, width>> {attn.name = "y"})
      attributes {attn.arena = #attn.size<128 * batch * source>} {
    %0 = attn.read_state @memory : tensor<?x?x32xf32, #attn.axes<batch, source, width>>
    %1 = attn.collapse %0 : (tensor<?x?x32xf32, #attn.axes<batch, source, width>>) -> tensor<?x32xf32, #attn.axes<batch * source, width>>
    %2 = attn.call @twice(%1) places [#attn.place<result, #attn.size<0>>] scratch [#attn.place<arena, #attn.size<0>>] : (tensor<?x32xf32, #attn.axes<batch * source, width>>) -> tensor<?x32xf32, #attn.axes<batch * source, width>>
    %3 = attn.expand %2 : (tensor<?x32xf32, #attn.axes<batch * source, width>>) -> tensor<?x?x32xf32, #attn.axes<batch, source, width>>
    return %3 : tensor<?x?x32xf32, #attn.axes<batch, source, width>>
  }
  // y[t] = x[t] + s[t], s[t - 1] = 2 y[t], from the last position on with s = 2 x[0]
  func.func @accumulate(%x: tensor<?x?x32xf32, #attn.axes<batch, source, width>> {attn.name = "x"}) -> (tensor<?x?x32xf32, #attn.axes<batch, source, width>> {attn.name = "y"})
      attributes {attn.arena = #attn.size<256 * batch>} {
    %0 = attn.select %x at 0 : (tensor<?x?x32xf32, #attn.axes<batch, source, width>>) -> tensor<?x32xf32, #attn.axes<batch, width>>
    %1 = attn.call @twice(%0) places [#attn.place<arena, #attn.size<0>>] scratch [#attn.place<arena, #attn.size<128 * batch>>] : (tensor<?x32xf32, #attn.axes<batch, width>>) -> tensor<?x32xf32, #attn.axes<batch, width>>
    %2 = attn.expand %1 : (tensor<?x32xf32, #attn.axes<batch, width>>) -> tensor<?x1x32xf32, #attn.axes<batch, query, width>>
    %3:2 = attn.recurrence over(%x) init(%2) reverse places [#attn.place<result, #attn.size<0>>] : (tensor<?x?x32xf32, #attn.axes<batch, source, width>>, tensor<?x1x32xf32, #attn.axes<batch, query, width>>) -> (tensor<?x?x32xf32, #attn.axes<batch, source, width>>, tensor<?x1x32xf32, #attn.axes<batch, query, width>>) {
    ^bb0(%now: tensor<?x1x32xf32, #attn.axes<batch, query, width>>, %s: tensor<?x1x32xf32, #attn.axes<batch, query, width>>):
      %4 = attn.split_heads %now into 4 : (tensor<?x1x32xf32, #attn.axes<batch, query, width>>) -> tensor<?x4x1x8xf32, #attn.axes<batch, head, query, width>>
      %5 = attn.split_heads %s into 4 : (tensor<?x1x32xf32, #attn.axes<batch, query, width>>) -> tensor<?x4x1x8xf32, #attn.axes<batch, head, query, width>>
      %6 = attn.call @add_heads(%4, %5) places [#attn.place<output, #attn.size<0>>] : (tensor<?x4x1x8xf32, #attn.axes<batch, head, query, width>>, tensor<?x4x1x8xf32, #attn.axes<batch, head, query, width>>) -> tensor<?x4x1x8xf32, #attn.axes<batch, head, query, width>>
      %7 = attn.merge_heads %6 : (tensor<?x4x1x8xf32, #attn.axes<batch, head, query, width>>) -> tensor<?x1x32xf32, #attn.axes<batch, query, width>>
      %8 = attn.collapse %7 : (tensor<?x1x32xf32, #attn.axes<batch, query, width>>) -> tensor<?x32xf32, #attn.axes<batch, width>>
      %9 = attn.call @twice(%8) places [#attn.place<arena, #attn.size<0>>] scratch [#attn.place<arena, #attn.size<128 * batch>>] : (tensor<?x32xf32, #attn.axes<batch, width>>) -> tensor<?x32xf32, #attn.axes<batch, width>>
      %10 = attn.expand %9 : (tensor<?x32xf32, #attn.axes<batch, width>>) -> tensor<?x1x32xf32, #attn.axes<batch, query, width>>
      attn.yield %7, %10 : tensor<?x1x32xf32, #attn.axes<batch, query, width>>, tensor<?x1x32xf32, #attn.axes<batch, query, width>>
    }
    return %3#0 : tensor<?x?x32xf32, #attn.axes<batch, source, width>>
  }
}
