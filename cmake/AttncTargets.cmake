# attnc_add_library(AttncSpec FILES... [DEPENDS TARGETS...] [LINK LIBRARIES...]): a static library of the compiler,
# aliased as attnc::AttncSpec. Includes are written from the project's root.
function(attnc_add_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  add_library(attnc::${name} ALIAS ${name})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# A library or program that uses MLIR: system includes, and the shared libMLIR and libLLVM only (mixing in the
# static ones registers everything twice).
function(attnc_use_mlir target)
  target_include_directories(${target} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_link_libraries(${target} PUBLIC MLIR LLVM)
endfunction()
