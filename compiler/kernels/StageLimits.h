/* StageLimits.h - what kernels, schedules and external stages (emit/shim) have in common.
 * SPDX-License-Identifier: Apache-2.0
 *
 * For C and C++.
 */

#ifndef ATTNC_KERNELS_STAGE_LIMITS_H
#define ATTNC_KERNELS_STAGE_LIMITS_H

#ifdef __cplusplus
namespace attnc {
#endif

/* What masked scores are, far below all others, and the least that a maximum of scores is. */
#define ATTNC_MASKED_SCORE (-1e30f)
#define ATTNC_LOWEST_MAXIMUM (-0.5e30f)

/* Of attention: external stages have arrays of these sizes on the stack, schedules ask for blocks of so many
 * keys, and for no more of the others. */
enum {
  StageKeys = 128,    /* of a block, exactly: all stages of attention */
  StageQueries = 256, /* of a block at most: BoundedAttention.h */
  StageColumns = 128, /* of a head: ExternalAttention.h and BoundedAttention.h */
  StepColumns = 256,  /* of a head: StepAttention.c */
  StepHeads = 16,     /* of a task: StepAttention.c */
  StepSpans = 16      /* of a row's keys, at most: StepAttention.c */
};

/* How far few rows ask for their weights ahead: less than half of a first cache of 32 KiB. */
enum { BytesAhead = 12 << 10 };

#ifdef __cplusplus
} // namespace attnc
#endif

#endif /* ATTNC_KERNELS_STAGE_LIMITS_H */
