//===- TileEmulator.cpp - AMX's instructions on machines without ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A handler of SIGILL decodes what trapped, does it on tiles in the thread's memory and goes on behind it. It
// knows the forms that compilers write for MatrixTiles.c; whatever else traps is a mistake and aborts.

#include "tests/kernels/TileEmulator.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__) && defined(__linux__)
#include <csignal>
#include <ucontext.h>
#include <unistd.h>

namespace attnc::test {
namespace {

constexpr int Tiles = 8, MostRows = 16, RowBytes = 64;

/// What LDTILECFG reads.
struct Configuration {
  uint8_t palette, start, reserved[14];
  uint16_t bytes[16];
  uint8_t rows[16];
};
static_assert(sizeof(Configuration) == 64);

struct Registers {
  Configuration shape;
  uint8_t tiles[Tiles][MostRows][RowBytes];
};
thread_local Registers registers;

/// An instruction with a VEX prefix of three bytes.
struct Instruction {
  int prefix;     // 0: none, 1: 66, 2: F3, 3: F2
  int opcode;     // of map 0F38
  int tile, left; // reg and rm
  int right;      // vvvv
  bool isMemory;
  uint8_t *base;  // of memory, displacement included
  int64_t stride; // the index, scaled
  const uint8_t *next;
};

[[noreturn]] void giveUp() {
  constexpr char message[] =
      "an instruction that the emulator of tiles does not know, or tiles of other shapes\n";
  (void)!::write(STDERR_FILENO, message, sizeof message - 1);
  abort();
}

/// From any address.
template <typename T> T readAs(const void *from) {
  T value;
  memcpy(&value, from, sizeof value);
  return value;
}

int64_t generalRegister(const ucontext_t &context, int number) {
  constexpr int order[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                           REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return context.uc_mcontext.gregs[order[number]];
}

/// `at` is the byte ModRM, `upperIndex` and `upperBase` are 8 where the prefix extends the registers. Tiles
/// are addressed by a base, an index and a displacement; the configuration's address may lack the index.
void decodeMemory(const ucontext_t &context, const uint8_t *at, int upperIndex, int upperBase,
                  Instruction &found) {
  int mode = *at >> 6, low = *at & 7;
  ++at;
  if (low == 5 && mode == 0)
    giveUp();
  if (low == 4) {
    int scaled = *at++, index = (scaled >> 3 & 7) | upperIndex;
    low = scaled & 7;
    if (low == 5 && mode == 0)
      giveUp();
    if (index != 4)
      found.stride = generalRegister(context, index) << (scaled >> 6);
  }
  int64_t address = generalRegister(context, low | upperBase);
  if (mode == 1)
    address += readAs<int8_t>(at);
  if (mode == 2)
    address += readAs<int32_t>(at);
  found.base = reinterpret_cast<uint8_t *>(address);
  found.next = at + (mode == 1 ? 1 : mode == 2 ? 4 : 0);
}

Instruction decode(const ucontext_t &context) {
  auto at = reinterpret_cast<const uint8_t *>(context.uc_mcontext.gregs[REG_RIP]);
  constexpr int vex = 0xc4, map0F38 = 2;
  if (at[0] != vex || (at[1] & 31) != map0F38)
    giveUp();
  Instruction found = {at[2] & 3, at[3], at[4] >> 3 & 7, at[4] & 7, ~at[2] >> 3 & 7, at[4] < 0xc0,
                       nullptr,   0,     at + 5};
  if (found.isMemory)
    decodeMemory(context, at + 4, at[1] & 0x40 ? 0 : 8, at[1] & 0x20 ? 0 : 8, found);
  return found;
}

void configure(const Instruction &what) {
  if (what.prefix == 3 && !what.isMemory) { // TILEZERO
    memset(registers.tiles[what.tile], 0, sizeof registers.tiles[0]);
    return;
  }
  if (what.prefix == 1 && what.isMemory) { // STTILECFG
    memcpy(what.base + what.stride, &registers.shape, sizeof registers.shape);
    return;
  }
  if (what.prefix != 0)
    giveUp();
  registers = {};
  if (!what.isMemory) // TILERELEASE
    return;
  registers.shape = readAs<Configuration>(what.base + what.stride);
  for (int i = 0; i < Tiles; ++i)
    if (registers.shape.palette != 1 || registers.shape.rows[i] > MostRows ||
        registers.shape.bytes[i] > RowBytes)
      giveUp();
}

void move(const Instruction &what) {
  if (registers.shape.palette == 0 || !what.isMemory)
    giveUp();
  auto &tile = registers.tiles[what.tile];
  const int rows = registers.shape.rows[what.tile], bytes = registers.shape.bytes[what.tile];
  const bool isStore = what.prefix == 2;
  if (!isStore)
    memset(tile, 0, sizeof tile);
  for (int row = 0; row < rows; ++row)
    isStore ? memcpy(what.base + row * what.stride, tile[row], bytes)
            : memcpy(tile[row], what.base + row * what.stride, bytes);
}

/// From its two bytes.
float fromBfloat(const uint8_t *at) { return std::bit_cast<float>(uint32_t(readAs<uint16_t>(at)) << 16); }

/// Of one row and one column: even elements and odd ones are summed up apart.
void addBfloats(uint8_t *sum,                     // one float
                const uint8_t *left,              // groups x 2 bfloat16
                const uint8_t (*right)[RowBytes], // groups rows, of which the first 2 bfloat16 count
                int groups) {
  float even = 0, odd = 0;
  for (int k = 0; k < groups; ++k) {
    even = std::fma(fromBfloat(left + 4 * k), fromBfloat(right[k]), even);
    odd = std::fma(fromBfloat(left + 4 * k + 2), fromBfloat(right[k] + 2), odd);
  }
  const float result = readAs<float>(sum) + (even + odd);
  memcpy(sum, &result, sizeof result);
}

/// The same of bytes, without a sign on the left.
void addBytes(uint8_t *sum,                     // one int32
              const uint8_t *left,              // groups x 4
              const uint8_t (*right)[RowBytes], // groups rows, of which the first 4 count
              int groups) {
  auto result = readAs<int32_t>(sum);
  for (int k = 0; k < groups; ++k)
    for (int i = 0; i < 4; ++i)
      result += int(left[4 * k + i]) * int(int8_t(right[k][i]));
  memcpy(sum, &result, sizeof result);
}

/// Has `add` add to each element of a tile the products of a row of the left and a column of the right one.
void multiply(const Instruction &what,
              void (*add)(uint8_t *, const uint8_t *, const uint8_t (*)[RowBytes], int)) {
  const Configuration &shape = registers.shape;
  const int rows = shape.rows[what.tile], columns = shape.bytes[what.tile] / 4,
            groups = shape.bytes[what.left] / 4;
  if (shape.palette == 0 || what.isMemory || shape.rows[what.left] != rows ||
      shape.rows[what.right] != groups || shape.bytes[what.right] != 4 * columns)
    giveUp();
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      auto right = reinterpret_cast<const uint8_t (*)[RowBytes]>(registers.tiles[what.right][0] + 4 * column);
      add(registers.tiles[what.tile][row] + 4 * column, registers.tiles[what.left][row], right, groups);
    }
}

void execute(int, siginfo_t *, void *machine) {
  auto &context = *static_cast<ucontext_t *>(machine);
  const Instruction what = decode(context);
  if (what.opcode == 0x49)
    configure(what);
  else if (what.opcode == 0x4b)
    move(what);
  else if (what.opcode == 0x5c && what.prefix == 2) // TDPBF16PS
    multiply(what, addBfloats);
  else if (what.opcode == 0x5e && what.prefix == 1) // TDPBUSD
    multiply(what, addBytes);
  else
    giveUp();
  context.uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(what.next);
}

} // namespace

bool emulateTiles() {
  struct sigaction action = {};
  action.sa_sigaction = execute;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  return sigaction(SIGILL, &action, nullptr) == 0;
}

} // namespace attnc::test

#else

bool attnc::test::emulateTiles() { return false; }

#endif
