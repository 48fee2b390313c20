# ATTNC_SANITIZER=asan or tsan instruments everything that is built here; the kernels that attnc then compiles are
# built with Halide's feature of the same name (see compiler/emit).
set(ATTNC_SANITIZER "" CACHE STRING "asan (with UBSan), tsan, or nothing")
set_property(CACHE ATTNC_SANITIZER PROPERTY STRINGS "" asan tsan)
if(ATTNC_SANITIZER STREQUAL "asan")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(ATTNC_SANITIZER STREQUAL "tsan")
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
elseif(ATTNC_SANITIZER)
  message(FATAL_ERROR "ATTNC_SANITIZER is '${ATTNC_SANITIZER}', but only asan and tsan are known")
endif()
