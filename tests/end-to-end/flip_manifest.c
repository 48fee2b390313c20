/* flip_manifest.c - flips a bit in each byte of a bundle's manifest: the bundle must be refused, with a
 * message. SPDX-License-Identifier: Apache-2.0
 *
 * usage: flip_manifest BUNDLE
 */

#include "attnrt/attnrt.h"

#include <stdio.h>
#include <string.h>

/* In place: a file that is cut and written anew waits for the disk. */
static int write_byte(FILE *file, size_t place, char byte) {
  return fseek(file, (long)place, SEEK_SET) == 0 && fputc((unsigned char)byte, file) != EOF &&
         fflush(file) == 0;
}

static int loads(const char *folder) {
  attnrt_model *model = NULL;
  int loaded = attnrt_model_load(folder, NULL, &model) == ATTNRT_OK;
  attnrt_model_destroy(model);
  return loaded;
}

int main(int count, char **arguments) {
  char path[4096];
  if (count != 2 || snprintf(path, sizeof path, "%s/manifest.json", arguments[1]) >= (int)sizeof path)
    return 2;
  FILE *file = fopen(path, "r+b");
  static char bytes[1 << 22];
  size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
  if (size == 0 || size == sizeof bytes || !loads(arguments[1]))
    return 3;
  int failures = 0;
  for (size_t i = 0; i < size; ++i) {
    if (!write_byte(file, i, (char)(bytes[i] ^ 1 << i % 8)))
      return 4;
    if (loads(arguments[1]) || strlen(attnrt_last_error()) == 0) {
      printf("byte %zu with bit %zu flipped loads, or fails without a message\n", i, i % 8);
      ++failures;
    }
    if (!write_byte(file, i, bytes[i]))
      return 4;
  }
  if (fclose(file) != 0 || !loads(arguments[1]))
    return 5;
  return failures != 0;
}
