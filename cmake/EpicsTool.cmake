# A program for tests and benchmarks that uses EPICS Base. ioc_exporter itself never does.
#
#   ioc_exporter_epics_tool(<target> <source> <base directory> <output directory> <library>...)
#
# One executable in the output directory that loads the libraries from the base directory, by RUNPATH.
function(ioc_exporter_epics_tool target source directory output)
  add_executable(${target} ${source})
  target_include_directories(${target} SYSTEM PRIVATE ${directory}/include)
  # registerAllRecordDeviceDrivers finds the record types by name, so their library must be linked even
  # though nothing refers to it. RUNPATH, not RPATH: a test moves the libraries with LD_LIBRARY_PATH.
  target_link_options(${target} PRIVATE -Wl,--no-as-needed -Wl,--enable-new-dtags)
  foreach(name IN LISTS ARGN)
    target_link_libraries(${target} PRIVATE ${directory}/lib/lib${name}.so)
  endforeach()
  set_target_properties(${target} PROPERTIES
    C_EXTENSIONS ON
    RUNTIME_OUTPUT_DIRECTORY ${output}
    BUILD_RPATH ${directory}/lib)
  ioc_exporter_warnings(${target})
endfunction()
