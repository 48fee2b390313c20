/* ToyKernels.c - kernels written by hand, with the interface of compiled ones.
 * SPDX-License-Identifier: Apache-2.0
 *
 * They read extents and strides from their buffers, so a wrong description gives wrong numbers. */

#include <HalideRuntime.h>

static float *at(const halide_buffer_t *buffer, const int *index) {
  int64_t offset = 0;
  for (int i = 0; i < buffer->dimensions; ++i)
    offset += (int64_t)index[i] * buffer->dim[i].stride;
  return (float *)buffer->host + offset;
}

struct linear {
  halide_buffer_t *x, *w, *b, *y;
};

static int linear_row(void *context, int row, uint8_t *closure) {
  (void)context;
  const struct linear *in = (const struct linear *)closure;
  for (int o = 0; o < in->y->dim[0].extent; ++o) {
    float sum = *at(in->b, (int[]){o});
    for (int i = 0; i < in->x->dim[0].extent; ++i)
      sum += *at(in->x, (int[]){i, row}) * *at(in->w, (int[]){o % 32, i, o / 32});
    *at(in->y, (int[]){o, row}) = sum;
  }
  return 0;
}

/* y = x w^T + b, w in panels of 32 */
int32_t toy_linear(void *context, halide_buffer_t *x, halide_buffer_t *w, halide_buffer_t *b,
                   halide_buffer_t *y) {
  struct linear closure = {x, w, b, y};
  return halide_do_par_for(context, linear_row, 0, y->dim[1].extent, (uint8_t *)&closure);
}

/* y = p + q over four axes */
int32_t toy_add_heads(void *context, halide_buffer_t *p, halide_buffer_t *q, halide_buffer_t *y) {
  (void)context;
  int i[4];
  for (i[3] = 0; i[3] < y->dim[3].extent; ++i[3])
    for (i[2] = 0; i[2] < y->dim[2].extent; ++i[2])
      for (i[1] = 0; i[1] < y->dim[1].extent; ++i[1])
        for (i[0] = 0; i[0] < y->dim[0].extent; ++i[0])
          *at(y, i) = *at(p, i) + *at(q, i);
  return 0;
}

/* y = 2 x over two axes, through a scratch buffer; rejects a row count of 13. */
int32_t toy_twice(void *context, halide_buffer_t *x, halide_buffer_t *y, halide_buffer_t *scratch) {
  if (x->dim[1].extent == 13)
    return halide_error_requirement_failed(context, "rows", "13 rows");
  for (int row = 0; row < y->dim[1].extent; ++row)
    for (int i = 0; i < y->dim[0].extent; ++i) {
      *at(scratch, (int[]){i, row}) = *at(x, (int[]){i, row});
      *at(y, (int[]){i, row}) = 2 * *at(scratch, (int[]){i, row});
    }
  return 0;
}
