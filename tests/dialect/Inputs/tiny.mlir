// One post-norm encoder layer and one post-norm decoder layer of width 64, 4 heads of 16, feed-forward 128: phase 'attn'.
// The target's embedding is its output matrix too.

!source_ids = tensor<?x?xi32, #attn.axes<batch, source>>
!target_ids = tensor<?x?xi32, #attn.axes<batch, target>>
!lengths = tensor<?xi32, #attn.axes<batch>>
!source = tensor<?x?x64xf32, #attn.axes<batch, source, width>>
!source_inner = tensor<?x?x128xf32, #attn.axes<batch, source, width>>
!source_heads = tensor<?x4x?x16xf32, #attn.axes<batch, head, source, width>>
!source_scores = tensor<?x4x?x?xf32, #attn.axes<batch, head, source, source>>
!target = tensor<?x?x64xf32, #attn.axes<batch, target, width>>
!target_inner = tensor<?x?x128xf32, #attn.axes<batch, target, width>>
!target_heads = tensor<?x4x?x16xf32, #attn.axes<batch, head, target, width>>
!target_scores = tensor<?x4x?x?xf32, #attn.axes<batch, head, target, target>>
!cross_scores = tensor<?x4x?x?xf32, #attn.axes<batch, head, target, source>>
!logits = tensor<?x?x43xf32, #attn.axes<batch, target, width>>
!matrix = tensor<64x64xf32>
!vector = tensor<64xf32>

attn.weight @source_table from ["source.embedding"] : tensor<51x64xf32>
attn.weight @target_table from ["target.embedding"] : tensor<43x64xf32>
attn.weight @positions sinusoid <interleaved = true, inclusive = false, start = 0> : tensor<128x64xf32>
attn.weight @encoder_query from ["encoder.query.weight"] : !matrix
attn.weight @encoder_query_bias from ["encoder.query.bias"] : !vector
attn.weight @encoder_key from ["encoder.key.weight"] : !matrix
attn.weight @encoder_value from ["encoder.value.weight"] : !matrix
attn.weight @encoder_value_bias from ["encoder.value.bias"] : !vector
attn.weight @encoder_out from ["encoder.out.weight"] : !matrix
attn.weight @encoder_out_bias from ["encoder.out.bias"] : !vector
attn.weight @encoder_norm from ["encoder.norm.weight"] : !vector
attn.weight @encoder_norm_bias from ["encoder.norm.bias"] : !vector
attn.weight @encoder_up from ["encoder.up.weight"] : tensor<128x64xf32>
attn.weight @encoder_up_bias from ["encoder.up.bias"] : tensor<128xf32>
attn.weight @encoder_down from ["encoder.down.weight"] : tensor<64x128xf32>
attn.weight @encoder_down_bias from ["encoder.down.bias"] : !vector
attn.weight @encoder_norm2 from ["encoder.norm2.weight"] : !vector
attn.weight @encoder_norm2_bias from ["encoder.norm2.bias"] : !vector
attn.weight @self_query from ["decoder.self.query.weight"] : !matrix
attn.weight @self_key from ["decoder.self.key.weight"] : !matrix
attn.weight @self_value from ["decoder.self.value.weight"] : !matrix
attn.weight @self_out from ["decoder.self.out.weight"] : !matrix
attn.weight @self_norm from ["decoder.self.norm.weight"] : !vector
attn.weight @self_norm_bias from ["decoder.self.norm.bias"] : !vector
attn.weight @cross_query from ["decoder.cross.query.weight"] : !matrix
attn.weight @cross_key from ["decoder.cross.key.weight"] : !matrix
attn.weight @cross_value from ["decoder.cross.value.weight"] : !matrix
attn.weight @cross_out from ["decoder.cross.out.weight"] : !matrix
attn.weight @cross_norm from ["decoder.cross.norm.weight"] : !vector
attn.weight @cross_norm_bias from ["decoder.cross.norm.bias"] : !vector
attn.weight @decoder_up from ["decoder.up.weight"] : tensor<128x64xf32>
attn.weight @decoder_up_bias from ["decoder.up.bias"] : tensor<128xf32>
attn.weight @decoder_down from ["decoder.down.weight"] : tensor<64x128xf32>
attn.weight @decoder_down_bias from ["decoder.down.bias"] : !vector
attn.weight @decoder_norm2 from ["decoder.norm2.weight"] : !vector
attn.weight @decoder_norm2_bias from ["decoder.norm2.bias"] : !vector
attn.weight @output_bias from ["output.bias"] : tensor<43xf32>

func.func @encode(%ids: !source_ids {attn.name = "source_ids"}, %lengths: !lengths {attn.name = "source_lengths"}) -> !source {
  %table = attn.get_weight @source_table : tensor<51x64xf32>
  %positions = attn.get_weight @positions : tensor<128x64xf32>
  %embedded = attn.embed %ids, %table : (!source_ids, tensor<51x64xf32>) -> !source
  %scaled = attn.scale %embedded by 8.0 : !source
  %x = attn.add_positions %scaled, %positions : (!source, tensor<128x64xf32>) -> !source

  %wq = attn.get_weight @encoder_query : !matrix
  %bq = attn.get_weight @encoder_query_bias : !vector
  %wk = attn.get_weight @encoder_key : !matrix
  %wv = attn.get_weight @encoder_value : !matrix
  %bv = attn.get_weight @encoder_value_bias : !vector
  %q = attn.linear %x, %wq bias %bq : (!source, !matrix, !vector) -> !source
  %k = attn.linear %x, %wk : (!source, !matrix) -> !source
  %v = attn.linear %x, %wv bias %bv : (!source, !matrix, !vector) -> !source
  %queries = attn.split_heads %q into 4 : (!source) -> !source_heads
  %keys = attn.split_heads %k into 4 : (!source) -> !source_heads
  %values = attn.split_heads %v into 4 : (!source) -> !source_heads
  %products = attn.matmul %queries, %keys transposed : (!source_heads, !source_heads) -> !source_scores
  %scores = attn.scale %products by 0.25 : !source_scores
  %masked = attn.padding_mask %scores, %lengths : (!source_scores, !lengths) -> !source_scores
  %weights = attn.softmax %masked : !source_scores
  %context = attn.matmul %weights, %values : (!source_scores, !source_heads) -> !source_heads
  %merged = attn.merge_heads %context : (!source_heads) -> !source
  %wo = attn.get_weight @encoder_out : !matrix
  %bo = attn.get_weight @encoder_out_bias : !vector
  %projected = attn.linear %merged, %wo bias %bo : (!source, !matrix, !vector) -> !source
  %sum = attn.add %projected, %x : !source
  %g = attn.get_weight @encoder_norm : !vector
  %b = attn.get_weight @encoder_norm_bias : !vector
  %attended = attn.layer_norm %sum, %g bias %b epsilon 1.0e-5 : (!source, !vector, !vector) -> !source

  %wu = attn.get_weight @encoder_up : tensor<128x64xf32>
  %bu = attn.get_weight @encoder_up_bias : tensor<128xf32>
  %up = attn.linear %attended, %wu bias %bu : (!source, tensor<128x64xf32>, tensor<128xf32>) -> !source_inner
  %inner = attn.activation relu %up : !source_inner
  %wd = attn.get_weight @encoder_down : tensor<64x128xf32>
  %bd = attn.get_weight @encoder_down_bias : !vector
  %down = attn.linear %inner, %wd bias %bd : (!source_inner, tensor<64x128xf32>, !vector) -> !source
  %sum2 = attn.add %down, %attended : !source
  %g2 = attn.get_weight @encoder_norm2 : !vector
  %b2 = attn.get_weight @encoder_norm2_bias : !vector
  %memory = attn.layer_norm %sum2, %g2 bias %b2 epsilon 1.0e-5 : (!source, !vector, !vector) -> !source
  return %memory : !source
}

func.func @decode(%ids: !target_ids {attn.name = "target_ids"}, %memory: !source {attn.name = "memory"},
                  %lengths: !lengths {attn.name = "source_lengths"}) -> !logits {
  %table = attn.get_weight @target_table : tensor<43x64xf32>
  %positions = attn.get_weight @positions : tensor<128x64xf32>
  %embedded = attn.embed %ids, %table : (!target_ids, tensor<43x64xf32>) -> !target
  %scaled = attn.scale %embedded by 8.0 : !target
  %x = attn.add_positions %scaled, %positions : (!target, tensor<128x64xf32>) -> !target

  %wq = attn.get_weight @self_query : !matrix
  %wk = attn.get_weight @self_key : !matrix
  %wv = attn.get_weight @self_value : !matrix
  %q = attn.linear %x, %wq : (!target, !matrix) -> !target
  %k = attn.linear %x, %wk : (!target, !matrix) -> !target
  %v = attn.linear %x, %wv : (!target, !matrix) -> !target
  %queries = attn.split_heads %q into 4 : (!target) -> !target_heads
  %keys = attn.split_heads %k into 4 : (!target) -> !target_heads
  %values = attn.split_heads %v into 4 : (!target) -> !target_heads
  %products = attn.matmul %queries, %keys transposed : (!target_heads, !target_heads) -> !target_scores
  %scores = attn.scale %products by 0.25 : !target_scores
  %masked = attn.causal_mask %scores : !target_scores
  %weights = attn.softmax %masked : !target_scores
  %context = attn.matmul %weights, %values : (!target_scores, !target_heads) -> !target_heads
  %merged = attn.merge_heads %context : (!target_heads) -> !target
  %wo = attn.get_weight @self_out : !matrix
  %projected = attn.linear %merged, %wo : (!target, !matrix) -> !target
  %sum = attn.add %projected, %x : !target
  %g = attn.get_weight @self_norm : !vector
  %b = attn.get_weight @self_norm_bias : !vector
  %attended = attn.layer_norm %sum, %g bias %b epsilon 1.0e-5 : (!target, !vector, !vector) -> !target

  %cwq = attn.get_weight @cross_query : !matrix
  %cwk = attn.get_weight @cross_key : !matrix
  %cwv = attn.get_weight @cross_value : !matrix
  %cq = attn.linear %attended, %cwq : (!target, !matrix) -> !target
  %ck = attn.linear %memory, %cwk : (!source, !matrix) -> !source
  %cv = attn.linear %memory, %cwv : (!source, !matrix) -> !source
  %cqueries = attn.split_heads %cq into 4 : (!target) -> !target_heads
  %ckeys = attn.split_heads %ck into 4 : (!source) -> !source_heads
  %cvalues = attn.split_heads %cv into 4 : (!source) -> !source_heads
  %cproducts = attn.matmul %cqueries, %ckeys transposed : (!target_heads, !source_heads) -> !cross_scores
  %cscores = attn.scale %cproducts by 0.25 : !cross_scores
  %cmasked = attn.padding_mask %cscores, %lengths : (!cross_scores, !lengths) -> !cross_scores
  %cweights = attn.softmax %cmasked : !cross_scores
  %ccontext = attn.matmul %cweights, %cvalues : (!cross_scores, !source_heads) -> !target_heads
  %cmerged = attn.merge_heads %ccontext : (!target_heads) -> !target
  %cwo = attn.get_weight @cross_out : !matrix
  %cprojected = attn.linear %cmerged, %cwo : (!target, !matrix) -> !target
  %csum = attn.add %cprojected, %attended : !target
  %cg = attn.get_weight @cross_norm : !vector
  %cb = attn.get_weight @cross_norm_bias : !vector
  %crossed = attn.layer_norm %csum, %cg bias %cb epsilon 1.0e-5 : (!target, !vector, !vector) -> !target

  %wu = attn.get_weight @decoder_up : tensor<128x64xf32>
  %bu = attn.get_weight @decoder_up_bias : tensor<128xf32>
  %up = attn.linear %crossed, %wu bias %bu : (!target, tensor<128x64xf32>, tensor<128xf32>) -> !target_inner
  %inner = attn.activation relu %up : !target_inner
  %wd = attn.get_weight @decoder_down : tensor<64x128xf32>
  %bd = attn.get_weight @decoder_down_bias : !vector
  %down = attn.linear %inner, %wd bias %bd : (!target_inner, tensor<64x128xf32>, !vector) -> !target
  %sum2 = attn.add %down, %crossed : !target
  %g2 = attn.get_weight @decoder_norm2 : !vector
  %b2 = attn.get_weight @decoder_norm2_bias : !vector
  %decoded = attn.layer_norm %sum2, %g2 bias %b2 epsilon 1.0e-5 : (!target, !vector, !vector) -> !target

  %bias = attn.get_weight @output_bias : tensor<43xf32>
  %logits = attn.linear %decoded, %table bias %bias : (!target, tensor<43x64xf32>, tensor<43xf32>) -> !logits
  return %logits : !logits
}
