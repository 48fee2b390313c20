/* HalideShim.c - what compiled kernels ask of a Halide runtime, answered by the session's
 * attnrt_kernel_context. SPDX-License-Identifier: Apache-2.0
 *
 * Linked into bundles, where its symbols are local, so that bundles do not meet in one process. It needs
 * no library, not even C's. A null context is allowed: loops run serially and errors are return codes only.
 */

#include "attnrt/bundle.h"

int halide_do_par_for(void *user_context, attnrt_task task, int begin, int count, uint8_t *closure) {
  attnrt_kernel_context *context = user_context;
  if (context && context->parallel_for)
    return context->parallel_for(context, task, begin, count, closure);
  for (int i = begin; i < begin + count; ++i) {
    int code = task(context, i, closure);
    if (code != 0)
      return code;
  }
  return 0;
}

static char *append(char *out, const char *end, const char *text) {
  while (*text && out < end)
    *out++ = *text++;
  return out;
}

/* Reports "a kernel failed: TEXT (NAME)"; `name` may be null. */
static int fail(void *user_context, int code, const char *text, const char *name) {
  attnrt_kernel_context *context = user_context;
  if (!context || !context->report_error)
    return code;
  char message[256];
  char *out = message;
  const char *end = message + sizeof(message) - 1;
  out = append(out, end, "a kernel failed: ");
  out = append(out, end, text);
  if (name) {
    out = append(out, end, " (");
    out = append(out, end, name);
    out = append(out, end, ")");
  }
  *out = 0;
  context->report_error(context, message);
  return code;
}

void halide_error(void *user_context, const char *message) { fail(user_context, -1, message, 0); }

/* There is no halide_malloc: scratch is on the stack or an argument. A kernel that asks for heap memory was
 * scheduled wrongly, and does not link. */

/* The checks of kernels that are compiled with assertions. Only the first argument, the name of what is
 * wrong, is told: a caller may pass more arguments than a C function reads. Codes are Halide's
 * (halide_error_code_t). */
#define NAMED_ERROR(symbol, code, text)                                                                      \
  int halide_error_##symbol(void *user_context, const char *name) {                                          \
    return fail(user_context, code, text, name);                                                             \
  }
#define UNNAMED_ERROR(symbol, code, text)                                                                    \
  int halide_error_##symbol(void *user_context) { return fail(user_context, code, text, 0); }

NAMED_ERROR(bounds_inference_call_failed, -1, "bounds query of an external stage failed")
NAMED_ERROR(extern_stage_failed, -1, "external stage failed")
NAMED_ERROR(explicit_bounds_too_small, -2, "bounds given by the schedule are too small")
NAMED_ERROR(bad_type, -3, "buffer has another element type")
NAMED_ERROR(access_out_of_bounds, -4, "buffer is accessed out of bounds")
NAMED_ERROR(buffer_allocation_too_large, -5, "buffer is too large")
NAMED_ERROR(buffer_extents_too_large, -6, "buffer has too many elements")
NAMED_ERROR(constraints_make_required_region_smaller, -7, "buffer is smaller than what is needed of it")
NAMED_ERROR(constraint_violated, -8, "constraint on a buffer does not hold")
NAMED_ERROR(param_too_small_i64, -9, "parameter is too small")
NAMED_ERROR(param_too_small_u64, -9, "parameter is too small")
NAMED_ERROR(param_too_small_f64, -9, "parameter is too small")
NAMED_ERROR(param_too_large_i64, -10, "parameter is too large")
NAMED_ERROR(param_too_large_u64, -10, "parameter is too large")
NAMED_ERROR(param_too_large_f64, -10, "parameter is too large")
UNNAMED_ERROR(out_of_memory, -11, "out of memory")
NAMED_ERROR(buffer_argument_is_null, -12, "buffer argument is null")
UNNAMED_ERROR(no_device_interface, -19, "buffer has no device interface")
NAMED_ERROR(unaligned_host_ptr, -24, "buffer is not aligned")
NAMED_ERROR(bad_fold, -25, "storage cannot be folded")
NAMED_ERROR(fold_factor_too_small, -26, "storage is folded too tightly")
NAMED_ERROR(requirement_failed, -27, "requirement does not hold")
NAMED_ERROR(buffer_extents_negative, -28, "buffer has a negative extent")
NAMED_ERROR(specialize_fail, -31, "no specialization fits")
NAMED_ERROR(host_is_null, -34, "buffer has no memory")
NAMED_ERROR(bad_extern_fold, -35, "storage of an external stage cannot be folded")
UNNAMED_ERROR(device_interface_no_device, -36, "buffer has a device interface and no device")
UNNAMED_ERROR(host_and_device_dirty, -37, "buffer is dirty on host and device")
NAMED_ERROR(buffer_is_null, -38, "buffer is null")
NAMED_ERROR(bad_dimensions, -43, "buffer has another number of axes")
NAMED_ERROR(device_dirty_with_no_device_support, -44, "buffer is dirty on a device")
NAMED_ERROR(storage_bound_too_small, -45, "storage bound is too small")
NAMED_ERROR(split_factor_not_positive, -46, "split factor is not positive")
