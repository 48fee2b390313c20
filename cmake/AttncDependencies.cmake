# Finds what the build stands on. Only Debian packages and the Python packages of setup.sh are used.
find_package(MLIR REQUIRED CONFIG)
find_package(Halide 21 REQUIRED COMPONENTS shared)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(GTest REQUIRED)
find_package(Threads REQUIRED)
find_library(SENTENCEPIECE_LIBRARY sentencepiece REQUIRED)
find_program(ATTNC_LINKER NAMES ld.lld-22 ld.lld REQUIRED)

list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
