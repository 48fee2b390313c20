/* ByteVectors.c - sums of products of bytes and whole numbers by vectors (AVX2, AVX-512 without VNNI).
 * SPDX-License-Identifier: Apache-2.0
 *
 * VPMADDUBSW adds up two products of a byte and a signed one in 16 bits, which 255 * 127 * 2 exceeds. So a
 * byte is taken less 128, from -128 to 127, and multiplies by its magnitude m: two products of at most 128 *
 * 128 fit. Of a negative one the weight w is inverted, ~w = -w - 1, by the same instruction for all columns:
 * m * ~w = -m * w - m, and the sum of all such m, which no column changes, is what sums begin with.
 */

#include "NarrowVectors.h"

#ifdef __AVX512BW__
typedef __m512i vector;
#define VECTOR(operation) _mm512_##operation
#define NAMED(function) function##_wide
enum { VectorBytes = 64 };
#else
typedef __m256i vector;
#define VECTOR(operation) _mm256_##operation
#define NAMED(function) function
enum { VectorBytes = 32 };
#endif

enum {
  GroupInputs = 4,
  BlockGroups = 128, /* of a panel: 16 KiB */
  FetchGroups = 2,   /* taken together: lines are asked for once */
  BlockInputs = BlockGroups * GroupInputs,
  BlockSteps = BlockInputs / TileBytes,
  PanelVectors = GroupBytes / VectorBytes,
  MostTileRows = 12 / PanelVectors /* 12 sums; a magnitude, a sign, ones and a product are other registers */
};
_Static_assert(TileRows % FetchGroups == 0, "a step is as many groups as TileRows");

/* Rows of a block of inputs, less 128. */
typedef struct {
  uint8_t magnitudes[MostRows][BlockInputs] __attribute__((aligned(LineBytes)));
  uint8_t signs[MostRows][BlockInputs] __attribute__((aligned(LineBytes))); /* all bits of negative ones */
  int32_t firstSums[MostRows];
} signedRows;

static inline int32_t addUp(__m256i quarters) {
  __m128i halves = _mm_add_epi64(_mm256_castsi256_si128(quarters), _mm256_extracti128_si256(quarters, 1));
  return _mm_cvtsi128_si32(_mm_add_epi64(halves, _mm_unpackhi_epi64(halves, halves)));
}

static inline void splitRow(const uint8_t *bytes, int count, signedRows *to, int row) {
  const __m256i zero = _mm256_setzero_si256(), middle = _mm256_set1_epi8(-128);
  __m256i inverted = zero;
  for (int i = 0; i < count; i += (int)sizeof(__m256i)) {
    __m256i whole = _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(bytes + i)), middle);
    __m256i magnitude = _mm256_abs_epi8(whole), sign = _mm256_cmpgt_epi8(zero, whole);
    _mm256_store_si256((__m256i *)(to->magnitudes[row] + i), magnitude);
    _mm256_store_si256((__m256i *)(to->signs[row] + i), sign);
    inverted = _mm256_add_epi64(inverted, _mm256_sad_epu8(_mm256_and_si256(magnitude, sign), zero));
  }
  to->firstSums[row] = addUp(inverted);
}

static inline vector load(const uint8_t *from) {
  vector loaded;
  __builtin_memcpy(&loaded, from, sizeof loaded);
  return loaded;
}

/* Adds the products of a group of inputs to the sums of `height` rows, whose groups are BlockInputs apart. */
TILE addGroup(const uint8_t *weights, const uint8_t *magnitudes, const uint8_t *signs,
              vector sums[][PanelVectors], const int height) {
  const vector ones = VECTOR(set1_epi16)(1);
  UNROLL for (int i = 0; i < height; ++i) {
    vector magnitude = VECTOR(set1_epi32)(fourBytes(magnitudes + i * BlockInputs)),
           sign = VECTOR(set1_epi32)(fourBytes(signs + i * BlockInputs));
    UNROLL for (int j = 0; j < PanelVectors; ++j) {
      vector pairs = VECTOR(maddubs_epi16)(magnitude, load(weights + j * VectorBytes) ^ sign);
      sums[i][j] = VECTOR(add_epi32)(sums[i][j], VECTOR(madd_epi16)(pairs, ones));
      STAY(sums[i][j]);
    }
    WRITE_OUT(); /* weights are read again for each row: 16 registers have no room for them */
  }
}

/* A tile of `height` rows by a panel; `height` is known where this is inlined: sums become registers. */
TILE multiplyTile(const block *b, const signedRows *rows, int row, int panel, lines *wanted,
                  const int height) {
  const uint8_t *weights = b->panels + panel * b->panelBytes;
  const uint8_t *magnitudes = rows->magnitudes[row], *signs = rows->signs[row];
  uint8_t *to = b->sums + row * b->sumBytes + panel * GroupBytes;
  vector sums[MostTileRows][PanelVectors];
  UNROLL for (int i = 0; i < height; ++i) {
    vector first = VECTOR(set1_epi32)(rows->firstSums[row + i]);
    UNROLL for (int j = 0; j < PanelVectors; ++j) {
      const uint8_t *sum = to + i * b->sumBytes + j * VectorBytes;
      sums[i][j] = b->isLater ? VECTOR(add_epi32)(load(sum), first) : first;
    }
  }
  const int groups = b->steps * TileRows;
  for (int group = 0; group < groups; group += FetchGroups) {
    fetchSome(wanted);
    UNROLL for (int next = group; next < group + FetchGroups; ++next)
        addGroup(weights + next * GroupBytes, magnitudes + next * GroupInputs, signs + next * GroupInputs,
                 sums, height);
  }
  UNROLL for (int i = 0; i < height; ++i) {
    UNROLL for (int j = 0; j < PanelVectors; ++j)
        __builtin_memcpy(to + i * b->sumBytes + j * VectorBytes, &sums[i][j], VectorBytes);
  }
}

#define DEFINE_TILE(height)                                                                                  \
  static void tile##height(const block *b, const signedRows *rows, int row, int panel, lines *wanted) {      \
    multiplyTile(b, rows, row, panel, wanted, height);                                                       \
  }
DEFINE_TILE(1)
DEFINE_TILE(2)
DEFINE_TILE(3)
#ifdef __AVX512BW__
DEFINE_TILE(4)
DEFINE_TILE(5)
DEFINE_TILE(6)
#define MORE_TILES , tile4, tile5, tile6
#else
#define MORE_TILES
#endif
static void (*const tiles[MostTileRows])(const block *, const signedRows *, int, int,
                                         lines *) = {tile1, tile2, tile3 MORE_TILES};

/* A panel meets all rows, which are shared out evenly, before the next one does. What comes after the last,
 * if it is asked for, is at `after`: another block of inputs. */
static void multiplyBlock(const block *b, const signedRows *rows) {
  int stripes = (b->count + MostTileRows - 1) / MostTileRows, groups = b->steps * TileRows;
  for (int panel = 0; panel < b->panelCount; ++panel) {
    int isLast = panel + 1 == b->panelCount;
    const uint8_t *next = isLast ? b->after : b->panels + (panel + 1) * b->panelBytes;
    int bytes = (isLast ? BlockGroups : groups) * GroupBytes;
    lines wanted = spreadLines(b->after ? next : 0, bytes, groups / FetchGroups * stripes);
    for (int stripe = 0; stripe < stripes; ++stripe) {
      int row = b->count * stripe / stripes, end = b->count * (stripe + 1) / stripes;
      tiles[end - row - 1](b, rows, row, panel, &wanted);
    }
  }
}

/* rows: bytes, `steps` times 64; panels: 4 x 32 x groups x panels of whole numbers; sums of products of bytes
 * less 128: 32-bit columns x rows. */
int NAMED(attnc_multiply_byte_vectors)(buffer *rows, buffer *panels, int steps, buffer *sums) {
  if (isBoundsQuery(rows, panels, sums))
    return answer(rows, panels, sums, steps * TileBytes, steps * TileRows);
  block b = place(rows, panels, sums, 1);
  const uint8_t *columns = b.panels, *after = b.after;
  signedRows split;
  for (int first = 0; first < steps && b.count > 0 && b.panelCount > 0; first += BlockSteps) {
    b.steps = steps - first < BlockSteps ? steps - first : BlockSteps;
    for (int row = 0; row < b.count; ++row)
      splitRow(b.rows + row * b.rowBytes + first * TileBytes, b.steps * TileBytes, &split, row);
    b.panels = columns + first * StepBytes;
    if (after) /* the next block of inputs, or the next columns */
      b.after = first + BlockSteps < steps ? b.panels + BlockSteps * StepBytes : after;
    b.isLater = first > 0;
    multiplyBlock(&b, &split);
  }
  return 0;
}
