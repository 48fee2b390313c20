/* two_bundles.c - two bundles in one program: each has its own kernels and its own shim.
 * SPDX-License-Identifier: Apache-2.0 */

#include "attend_by_hand.h"
#include "other.h"

#include <string.h>

int main(void) {
  if (strcmp(attend_by_hand_descriptor.name, "attend_by_hand") != 0 ||
      strcmp(other_descriptor.name, "other") != 0)
    return 1;
  return attend_by_hand_descriptor.variants[0].kernels[0] == other_descriptor.variants[0].kernels[0];
}
