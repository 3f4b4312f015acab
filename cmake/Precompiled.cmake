# What most files of a target include, read once for all of them: compiling takes most of the time of all tests. Such a
# build does not notice a file that forgets to include what it uses of these: structure.includes does.
option(IOC_EXPORTER_PRECOMPILE "Read what most files include once for each target" ON)

#   ioc_exporter_precompiled(<target> [<more.h> ...])
function(ioc_exporter_precompiled target)
  if(IOC_EXPORTER_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE <algorithm> <chrono> <functional> <map> <memory> <ranges> <string>
      <unordered_map> <variant> <vector> ${ARGN})
    # What the standard library's headers tell the compiler not to warn of is forgotten with them (GCC 12).
    target_compile_options(${target} PRIVATE
      "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-restrict>")
  endif()
endfunction()

# Of a target of tests.
function(ioc_exporter_precompiled_test target)
  ioc_exporter_precompiled(${target} <gtest/gtest.h> <gmock/gmock.h> ${ARGN})
endfunction()
