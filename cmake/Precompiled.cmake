# Headers that most files include, read once for all rooms, and once for each target of tests: compiling takes most of the
# time of all tests. Such a build does not notice that a file lacks the include of one of them: structure.includes does.
option(IOC_EXPORTER_PRECOMPILE "Read headers that most files include once" ON)

#   ioc_exporter_precompiled(<target> [<more.h> ...])
function(ioc_exporter_precompiled target)
  if(IOC_EXPORTER_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE <algorithm> <chrono> <functional> <map> <memory> <ranges> <string>
      <unordered_map> <variant> <vector> ${ARGN})
    ioc_exporter_precompiled_options(${target})
  endif()
endfunction()

function(ioc_exporter_precompiled_options target)
  # With them GCC 12 forgets the pragmas by which the standard library's headers turn warnings off.
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-restrict>")
endfunction()

# Of a room. All have the flags that the header was read with: some of the libraries ask for -pthread. What more macros a
# room has is nothing to these headers.
function(ioc_exporter_precompiled_room target)
  if(NOT IOC_EXPORTER_PRECOMPILE)
    return()
  endif()
  if(NOT TARGET ioc_exporter_precompiled)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "")
    add_library(ioc_exporter_precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
    ioc_exporter_warnings(ioc_exporter_precompiled)
    target_compile_options(ioc_exporter_precompiled PRIVATE -pthread)
    ioc_exporter_precompiled(ioc_exporter_precompiled)
  endif()
  target_precompile_headers(${target} REUSE_FROM ioc_exporter_precompiled)
  target_compile_options(${target} PRIVATE -pthread)
  ioc_exporter_precompiled_options(${target})
endfunction()

# Of a target of tests.
function(ioc_exporter_precompiled_test target)
  ioc_exporter_precompiled(${target} <gtest/gtest.h> <gmock/gmock.h> ${ARGN})
endfunction()
