/* read_weights.h - a bundle's weights for a C program that has no runtime.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ATTNC_EXAMPLES_READ_WEIGHTS_H
#define ATTNC_EXAMPLES_READ_WEIGHTS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The data part of a weight file, aligned to 64 bytes, or null. */
static char *read_weights(const char *path) {
  FILE *file = fopen(path, "rb");
  uint64_t header;
  if (!file || fread(&header, 8, 1, file) != 1 || fseek(file, 0, SEEK_END) != 0)
    return 0;
  size_t size = (size_t)ftell(file) - 8 - header;
  char *data = aligned_alloc(64, (size + 63) / 64 * 64);
  if (fseek(file, (long)(8 + header), SEEK_SET) != 0 || fread(data, 1, size, file) != size)
    return 0;
  fclose(file);
  return data;
}

#endif /* ATTNC_EXAMPLES_READ_WEIGHTS_H */
