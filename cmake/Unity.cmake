# A first build compiles the files of a room together, sixteen at a time: a third of the time, most of which goes into
# headers. For those who change files it is off: one file would compile sixteen.
option(IOC_EXPORTER_UNITY "Compile files of a room together: a faster first build, a slower second one" OFF)
find_package(Python3 QUIET COMPONENTS Interpreter)

#   ioc_exporter_unity(<target> [<alone.cpp> ...])
# Files with options of their own are compiled alone, too.
function(ioc_exporter_unity target)
  if(NOT IOC_EXPORTER_UNITY OR NOT Python3_EXECUTABLE)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(REMOVE_ITEM sources ${ARGN})
  execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/unity_groups.py ${sources}
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE groups COMMAND_ERROR_IS_FATAL ANY)
  set(number 0)
  string(REPLACE "\n" ";" groups "${groups}")
  foreach(group IN LISTS groups)
    math(EXPR number "${number} + 1")
    separate_arguments(files UNIX_COMMAND "${group}")
    # As some files belong to several targets, the target is part of the name.
    set_source_files_properties(${files} PROPERTIES UNITY_GROUP ${target}_${number})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # A local name may be one that another file has in its unnamed namespace, and a class may have a member of such a type.
  target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()
