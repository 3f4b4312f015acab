# One room of src/ is one static library, ioc_exporter_<room>, of all .cpp files below its folder. FUZZED: those that fuzz
# targets look into. ALONE: those that are linked in another form elsewhere, and so are compiled each alone.
#
#   ioc_exporter_layer(<room> LINK ioc_exporter_base ... [PRIVATE_LINK ...] [FUZZED a.cpp ...]
#     [ALONE a.cpp ...])
function(ioc_exporter_layer name)
  cmake_parse_arguments(ARG "" "" "LINK;PRIVATE_LINK;FUZZED;ALONE" ${ARGN})
  set(target ioc_exporter_${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/bpf)
  target_link_libraries(${target} PUBLIC ${ARG_LINK} PRIVATE ${ARG_PRIVATE_LINK})
  ioc_exporter_warnings(${target})
  ioc_exporter_precompiled_room(${target})
  ioc_exporter_fuzzed(${ARG_FUZZED})
  ioc_exporter_unity(${target} ${ARG_ALONE})
endfunction()
