/* StageLimits.h - what external stages of attention take at a time.
 * SPDX-License-Identifier: Apache-2.0
 *
 * For C and C++: emit/shim has arrays of these sizes on the stack, schedules ask for blocks of so many keys,
 * and for no more of the others.
 */

#ifndef ATTNC_KERNELS_STAGE_LIMITS_H
#define ATTNC_KERNELS_STAGE_LIMITS_H

#ifdef __cplusplus
namespace attnc {
#endif

enum {
  StageKeys = 128,    /* of a block, exactly: all stages of attention */
  StageQueries = 256, /* of a block at most: BoundedAttention.h */
  StageColumns = 128, /* of a head: ExternalAttention.h and BoundedAttention.h */
  StepColumns = 256,  /* of a head: StepAttention.c */
  StepHeads = 16      /* of a task: StepAttention.c */
};

#ifdef __cplusplus
} // namespace attnc
#endif

#endif /* ATTNC_KERNELS_STAGE_LIMITS_H */
