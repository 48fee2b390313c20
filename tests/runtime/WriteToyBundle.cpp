//===- WriteToyBundle.cpp - the toy bundle as a folder for attnc --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// usage: write-toy-bundle LIBRARY FOLDER

#include "ToyBundle.h"

#include <iostream>

int main(int argc, char **argv) {
  if (argc != 3) {
    std::cerr << "usage: write-toy-bundle LIBRARY FOLDER\n";
    return 2;
  }
  const toy::Folder files;
  std::filesystem::copy(files.path(), argv[2], std::filesystem::copy_options::recursive);
  std::filesystem::copy_file(argv[1], std::string(argv[2]) + "/libtoy.so");
  return 0;
}
