# One folder of src/ is one static library, ioc_exporter_<folder>.
#
#   ioc_exporter_layer(<folder> SOURCES a.cpp b.cpp LINK ioc_exporter_util ...)
function(ioc_exporter_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  set(target ioc_exporter_${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/bpf)
  target_link_libraries(${target} PUBLIC ${ARG_LINK} PRIVATE ${ARG_PRIVATE_LINK})
  ioc_exporter_warnings(${target})
  if(IOC_EXPORTER_SANITIZE AND name MATCHES "^(discovery|ioc|policy|protocol|util)$")
    target_compile_options(${target} PRIVATE -O1)  # what fuzz targets and long tests do
  endif()
  if(IOC_EXPORTER_UNITY AND name MATCHES "^(app|discovery|http|ioc|metrics|policy|probes)$")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()
