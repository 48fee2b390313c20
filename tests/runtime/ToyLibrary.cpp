//===- ToyLibrary.cpp - the toy bundle's code as a shared library -------------===//
// SPDX-License-Identifier: Apache-2.0

#include "ToyBundle.h"

/// What attnrt_model_load() looks up. Compiled bundles have it as constant data; here it is filled at load.
extern "C" const attnrt_descriptor toy_descriptor;
const attnrt_descriptor toy_descriptor = *toy::descriptor();
