# -DIOC_EXPORTER_SANITIZE=address,undefined: all C and C++ that is ours, BPF aside. What they find ends the
# program. Tests that measure memory or time do not hold then. Leaks cannot be looked for in the exporter's
# sandbox: ASAN_OPTIONS=detect_leaks=0, or --no-security.sandbox.
#
# With clang such a build also has the fuzz targets (tests/fuzz).
if(IOC_EXPORTER_SANITIZE)
  # Sanitizers take more time to compile than the code itself, and most of it when it is optimized.
  set(CMAKE_CXX_FLAGS_RELEASE "-O0")
  set(CMAKE_C_FLAGS_RELEASE "-O0")
  add_compile_options(-fsanitize=${IOC_EXPORTER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${IOC_EXPORTER_SANITIZE})
  # Checks at each use of a pointer take a sixth of the time to compile. What follows a null pointer ends the program
  # all the same.
  if(IOC_EXPORTER_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize=null,alignment,vptr)
    set(IOC_EXPORTER_POINTER_CHECKS "-fsanitize=null,alignment")
  endif()
endif()

# -DIOC_EXPORTER_FUZZ=ON, with clang: files that fuzz targets look into have all checks and lines for reports, their branches are
# counted, and they are fast enough for many inputs. That takes several times as long to compile.
option(IOC_EXPORTER_FUZZ "Fuzz targets make inputs of their own, beside their corpus" OFF)
function(ioc_exporter_fuzzed)
  if(IOC_EXPORTER_FUZZ)
    set_source_files_properties(${ARGN} PROPERTIES SKIP_PRECOMPILE_HEADERS ON
      COMPILE_OPTIONS "-O1;-g1;-fsanitize=fuzzer-no-link;${IOC_EXPORTER_POINTER_CHECKS}")
  endif()
endfunction()

# For programs of tests that stand for somebody else's.
function(ioc_exporter_not_sanitized)
  if(IOC_EXPORTER_SANITIZE)
    foreach(target IN LISTS ARGN)
      target_compile_options(${target} PRIVATE -fno-sanitize=all)
      target_link_options(${target} PRIVATE -fno-sanitize=all)
    endforeach()
  endif()
endfunction()
