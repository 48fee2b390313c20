/* FloatLanes.h - vectors of floats, 16 with AVX-512 and else 8, and what attention needs of them.
 * SPDX-License-Identifier: Apache-2.0
 */

#ifndef ATTNC_COMPILER_EMIT_SHIM_FLOATLANES_H
#define ATTNC_COMPILER_EMIT_SHIM_FLOATLANES_H

#include "ExternalStage.h"
#include "compiler/kernels/StageLimits.h"

#define INLINE static inline __attribute__((always_inline))

static inline int least(int a, int b) { return a < b ? a : b; }
static inline int most(int a, int b) { return a > b ? a : b; }

#ifdef __AVX512F__

enum { Lanes = 16 };
typedef __m512 floats;

INLINE floats noFloats(void) { return _mm512_setzero_ps(); }
INLINE floats broadcast(float number) { return _mm512_set1_ps(number); }
INLINE floats loadFloats(const void *from) { return _mm512_loadu_ps(from); }
INLINE void storeFloats(float *to, floats numbers) { _mm512_storeu_ps(to, numbers); }
INLINE floats added(floats a, floats b) { return _mm512_add_ps(a, b); }
INLINE floats minus(floats a, floats b) { return _mm512_sub_ps(a, b); }
INLINE floats times(floats a, floats b) { return _mm512_mul_ps(a, b); }
INLINE floats timesPlus(floats a, floats b, floats sum) { return _mm512_fmadd_ps(a, b, sum); }
INLINE floats larger(floats a, floats b) { return _mm512_max_ps(a, b); }
INLINE float largest(floats numbers) { return _mm512_reduce_max_ps(numbers); }
INLINE float total(floats numbers) { return _mm512_reduce_add_ps(numbers); }

/* Of 2 x 16 bfloat16, those at even places and those at odd ones. */
INLINE void widenBfloats(const uint8_t *from, floats *even, floats *odd) {
  __m512i words = _mm512_loadu_si512(from);
  *even = (floats)_mm512_slli_epi32(words, 16);
  *odd = (floats)_mm512_and_si512(words, _mm512_set1_epi32((int)0xffff0000));
}

/* Two vectors in order become those at even places and those at odd ones. */
INLINE void takeApart(floats low, floats high, floats *even, floats *odd) {
  const __m512i places = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  *even = _mm512_permutex2var_ps(low, places, high);
  *odd = _mm512_permutex2var_ps(low, _mm512_add_epi32(places, _mm512_set1_epi32(1)), high);
}

/* The inverse. */
INLINE void putTogether(floats even, floats odd, floats *low, floats *high) {
  const __m512i places = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  *low = _mm512_permutex2var_ps(even, places, odd);
  *high = _mm512_permutex2var_ps(even, _mm512_add_epi32(places, _mm512_set1_epi32(8)), odd);
}

/* Lanes `begin` up to `end` of scores; the others are masked. */
INLINE floats maskedBut(floats scores, int begin, int end) {
  __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __mmask16 begun = _mm512_cmp_epi32_mask(lane, _mm512_set1_epi32(begin), _MM_CMPINT_NLT);
  __mmask16 seen = _mm512_mask_cmp_epi32_mask(begun, lane, _mm512_set1_epi32(end), _MM_CMPINT_LT);
  return _mm512_mask_mov_ps(broadcast(ATTNC_MASKED_SCORE), seen, scores);
}

/* As many vectors as lanes become one, of what `combine` makes of each one's lanes. */
INLINE floats acrossLanes(const floats *rows, floats (*combine)(floats, floats)) {
  floats pairs[8], fours[4], halves[2];
  UNROLL for (int i = 0; i < 8; ++i) pairs[i] = combine(_mm512_unpacklo_ps(rows[2 * i], rows[2 * i + 1]),
                                                        _mm512_unpackhi_ps(rows[2 * i], rows[2 * i + 1]));
  UNROLL for (int i = 0; i < 4; ++i) {
    __m512d even = (__m512d)pairs[2 * i], odd = (__m512d)pairs[2 * i + 1];
    fours[i] = combine((floats)_mm512_unpacklo_pd(even, odd), (floats)_mm512_unpackhi_pd(even, odd));
  }
  UNROLL for (int i = 0; i < 2; ++i) halves[i] =
      combine(_mm512_shuffle_f32x4(fours[2 * i], fours[2 * i + 1], 0x88),
              _mm512_shuffle_f32x4(fours[2 * i], fours[2 * i + 1], 0xdd));
  return combine(_mm512_shuffle_f32x4(halves[0], halves[1], 0x88),
                 _mm512_shuffle_f32x4(halves[0], halves[1], 0xdd));
}

/* `sum` by the power of two whose exponent is in the lowest bits; zero where `x` is below -100. */
INLINE floats scaled(floats sum, floats exponent, floats x) {
  __mmask16 mask = _mm512_cmp_ps_mask(x, broadcast(-100), _CMP_NLT_UQ);
  return _mm512_maskz_mul_ps(mask, sum, (floats)_mm512_slli_epi32((__m512i)exponent, 23));
}

#else

enum { Lanes = 8 };
typedef __m256 floats;

INLINE floats noFloats(void) { return _mm256_setzero_ps(); }
INLINE floats broadcast(float number) { return _mm256_set1_ps(number); }
INLINE floats loadFloats(const void *from) { return _mm256_loadu_ps(from); }
INLINE void storeFloats(float *to, floats numbers) { _mm256_storeu_ps(to, numbers); }
INLINE floats added(floats a, floats b) { return _mm256_add_ps(a, b); }
INLINE floats minus(floats a, floats b) { return _mm256_sub_ps(a, b); }
INLINE floats times(floats a, floats b) { return _mm256_mul_ps(a, b); }
INLINE floats timesPlus(floats a, floats b, floats sum) { return _mm256_fmadd_ps(a, b, sum); }
INLINE floats larger(floats a, floats b) { return _mm256_max_ps(a, b); }

/* What `combine` makes of all lanes. */
INLINE float acrossVector(floats numbers, floats (*combine)(floats, floats)) {
  floats halves = combine(numbers, _mm256_permute2f128_ps(numbers, numbers, 1));
  floats fours = combine(halves, _mm256_permute_ps(halves, 0x4e));
  return _mm256_cvtss_f32(combine(fours, _mm256_permute_ps(fours, 0xb1)));
}
INLINE float largest(floats numbers) { return acrossVector(numbers, larger); }
INLINE float total(floats numbers) { return acrossVector(numbers, added); }

INLINE void widenBfloats(const uint8_t *from, floats *even, floats *odd) {
  __m256i words = _mm256_loadu_si256((const __m256i *)from);
  *even = (floats)_mm256_slli_epi32(words, 16);
  *odd = (floats)_mm256_and_si256(words, _mm256_set1_epi32((int)0xffff0000));
}

INLINE void takeApart(floats low, floats high, floats *even, floats *odd) {
  *even = (floats)_mm256_permute4x64_epi64((__m256i)_mm256_shuffle_ps(low, high, 0x88), 0xd8);
  *odd = (floats)_mm256_permute4x64_epi64((__m256i)_mm256_shuffle_ps(low, high, 0xdd), 0xd8);
}

INLINE void putTogether(floats even, floats odd, floats *low, floats *high) {
  floats first = _mm256_unpacklo_ps(even, odd), second = _mm256_unpackhi_ps(even, odd);
  *low = _mm256_permute2f128_ps(first, second, 0x20);
  *high = _mm256_permute2f128_ps(first, second, 0x31);
}

INLINE floats maskedBut(floats scores, int begin, int end) {
  __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  __m256i early = _mm256_cmpgt_epi32(_mm256_set1_epi32(begin), lane);
  __m256i seen = _mm256_andnot_si256(early, _mm256_cmpgt_epi32(_mm256_set1_epi32(end), lane));
  return _mm256_blendv_ps(broadcast(ATTNC_MASKED_SCORE), scores, (floats)seen);
}

INLINE floats acrossLanes(const floats *rows, floats (*combine)(floats, floats)) {
  floats pairs[4], fours[2];
  UNROLL for (int i = 0; i < 4; ++i) pairs[i] = combine(_mm256_unpacklo_ps(rows[2 * i], rows[2 * i + 1]),
                                                        _mm256_unpackhi_ps(rows[2 * i], rows[2 * i + 1]));
  UNROLL for (int i = 0; i < 2; ++i) {
    __m256d even = (__m256d)pairs[2 * i], odd = (__m256d)pairs[2 * i + 1];
    fours[i] = combine((floats)_mm256_unpacklo_pd(even, odd), (floats)_mm256_unpackhi_pd(even, odd));
  }
  return combine(_mm256_permute2f128_ps(fours[0], fours[1], 0x20),
                 _mm256_permute2f128_ps(fours[0], fours[1], 0x31));
}

INLINE floats scaled(floats sum, floats exponent, floats x) {
  floats power = (floats)_mm256_slli_epi32((__m256i)exponent, 23);
  return _mm256_and_ps(times(sum, power), _mm256_cmp_ps(x, broadcast(-100), _CMP_NLT_UQ));
}

#endif

/* 2^x for x <= 0; zero below -100; a NaN stays one. Taylor's polynomial errs by 1.2e-7 of 2^x, as a float
 * does, the result by less than 2.5e-7 (tests/kernels/PowersTest.cpp). Adding 1.5 * 2^23 + 127 leaves the
 * nearest whole number, and the exponent's bias, in the lowest bits.
 */
INLINE floats powerOf(floats x) {
  static const float terms[] = {
      0.00015403530f, 0.0013333558f, 0.0096181291f, 0.055504109f, 0.24022651f, 0.69314718f, 1};
  const floats toWhole = broadcast(12582912.f + 127);
  floats whole = added(x, toWhole), fraction = minus(x, minus(whole, toWhole)), sum = noFloats();
  UNROLL for (int term = 0; term < 7; ++term) sum = timesPlus(sum, fraction, broadcast(terms[term]));
  return scaled(sum, whole, x);
}

#endif /* ATTNC_COMPILER_EMIT_SHIM_FLOATLANES_H */
