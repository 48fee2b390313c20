/* Powers.c - powers of two as external stages compute them, compiled for each set of instructions.
 * SPDX-License-Identifier: Apache-2.0
 *
 * POWERS: the function's name; ROUNDED: the one whose results are rounded to bfloat16.
 */

#ifdef ROUNDED
#include "compiler/emit/shim/ExternalAttention.h"
enum { Lanes = 16 };
#else
#include "compiler/emit/shim/FloatLanes.h"
#endif

/* `count`, a multiple of 16, numbers up to 0. */
void POWERS(const float *from, float *to, int count) {
  for (int i = 0; i < count; i += Lanes)
#ifdef ROUNDED
    _mm512_storeu_ps(to + i, power(_mm512_loadu_ps(from + i)));
#else
    storeFloats(to + i, powerOf(loadFloats(from + i)));
#endif
}
