//===- RebuiltToyLibrary.cpp - the toy bundle's code, built for another manifest ------===//
// SPDX-License-Identifier: Apache-2.0

#include "ToyBundle.h"

extern "C" const attnrt_descriptor toy_descriptor;
const attnrt_descriptor toy_descriptor = toy::withHash("00000000000000000000000000000000");
