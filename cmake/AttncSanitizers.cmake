# ATTNC_SANITIZER=asan or tsan instruments everything that is built here; the kernels that attnc then compiles are
# built with Halide's feature of the same name (see compiler/emit). ATTNC_SANITIZER=fuzz is asan for what tests/fuzz
# calls, and for nothing else. The test preset asan sets allow_user_poisoning=0: MLIR's allocators poison memory where
# their code is inlined here and do not unpoison it in libMLIR, which is not instrumented.
set(ATTNC_SANITIZER "" CACHE STRING "asan (with UBSan), fuzz, tsan, or nothing")
set_property(CACHE ATTNC_SANITIZER PROPERTY STRINGS "" asan fuzz tsan)
if(ATTNC_SANITIZER) # Clang sees that GCC 12's std::stable_sort uses what C++17 deprecates
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-declarations>)
endif()
# Functions that Halide compiled lack the signature that -fsanitize=function reads before their first byte.
set(flags_asan -fsanitize=address,undefined -fno-sanitize=function -fno-sanitize-recover=undefined
               -fno-omit-frame-pointer)
set(flags_fuzz ${flags_asan} -fsanitize=fuzzer-no-link)
set(flags_tsan -fsanitize=thread)
if(ATTNC_SANITIZER AND NOT DEFINED flags_${ATTNC_SANITIZER})
  message(FATAL_ERROR "ATTNC_SANITIZER is '${ATTNC_SANITIZER}', but only asan, fuzz and tsan are known")
endif()
set(ATTNC_SANITIZER_FLAGS ${flags_${ATTNC_SANITIZER}})
add_compile_options(${ATTNC_SANITIZER_FLAGS})
add_link_options(${ATTNC_SANITIZER_FLAGS})
