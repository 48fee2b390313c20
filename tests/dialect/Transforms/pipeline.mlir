// RUN: attnc-opt --attn-planned %S/../Inputs/tiny.mlir | FileCheck %s
// RUN: attnc-opt --attn-planned %S/../Inputs/tiny.mlir | attnc-opt | FileCheck %s
// All phases on a small encoder-decoder: which kernels each entry calls, in order.

// CHECK: attn.sizes = ["batch", "candidate", "capacity", "first", "history", "length", "part", "row", "slot", "source", "target"]

// CHECK-LABEL: func.func @encode(
// CHECK: attn.call @embed_64_scale_positions(
// CHECK: attn.call @linear_64x192(
// CHECK: attn.call @attention_4x16_padding(
// CHECK: attn.call @linear_64x64_add_layer_norm(
// CHECK: attn.call @linear_64x128_relu(
// CHECK: attn.call @linear_128x64_add_layer_norm(
// CHECK: attn.call @linear_64x128({{.*}}) places [#attn.place<state, <512 * first * source>>]
// CHECK-NOT: attn.call
// CHECK: return{{$}}

// CHECK-LABEL: func.func @step(
// CHECK: attn.call @embed_64_scale_positions_step(
// CHECK: attn.call @linear_64x192_2(
// CHECK: attn.call @append_4x16(
// CHECK: attn.call @increment(
// CHECK: attn.call @append_4x16(
// CHECK: attn.call @attention_step_4x16_padding(
// CHECK: attn.call @linear_64x64_add_layer_norm_2(
// CHECK: attn.call @linear_64x64(
// CHECK: attn.call @attention_shared_4x16_padding(
// CHECK: attn.call @linear_64x64_add_layer_norm_2(
// CHECK: attn.call @linear_64x128_relu(
// CHECK: attn.call @linear_128x64_add_layer_norm(
// CHECK: attn.call @linear_64x43_log_softmax_top_k({{.*}}) places [#attn.place<result, <0>>, #attn.place<result, <1>>] scratch [
// CHECK-NOT: attn.call

// CHECK-LABEL: func.func @logits(
// CHECK: attn.call @linear_64x43_log_sum_exp({{.*}}) places [#attn.place<result, <0>>, #attn.place<result, <1>>]

// CHECK-LABEL: func.func @score(
// CHECK: attn.call @attention_4x16_causal(
// CHECK: attn.call @attention_4x16_padding(
// CHECK: attn.call @linear_64x43_log_softmax_pick(

// CHECK-LABEL: func.func @attend(
// CHECK: attn.call @attention_4x16_causal(
// CHECK: attn.call @attention_weights_4x16_padding_mean_heads({{.*}}) places [#attn.place<result, <0>>]
// CHECK-NOT: attn.call
