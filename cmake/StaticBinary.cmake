# ioc_exporter_static: the same program as one file that needs nothing of its host: no libraries, no loader (static-pie).
# The objects are those of the ordinary build, but for the few that depend on which civetweb it is; what Debian has no
# static library of is in third_party/.
function(ioc_exporter_find_static variable)
  foreach(name IN LISTS ARGN)
    find_library(STATIC_${name} NAMES lib${name}.a REQUIRED)
    list(APPEND found ${STATIC_${name}})
  endforeach()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

ioc_exporter_find_static(archives bpf elf z re2 yaml-cpp crypt deflate zstd cap seccomp ssl crypto)
get_filename_component(archives_folder ${STATIC_re2} DIRECTORY)
file(GLOB abseil ${archives_folder}/libabsl_*.a)

set(room_archives "")
foreach(room IN LISTS rooms)
  list(APPEND room_archives $<TARGET_FILE:ioc_exporter_${room}>)
endforeach()

# Objects that are named go before those of the same name in a room's archive, which are not taken then.
add_executable(ioc_exporter_static static_binary.cpp
  $<TARGET_OBJECTS:ioc_exporter> $<TARGET_OBJECTS:ioc_exporter_web_tls>)
add_dependencies(ioc_exporter_static ioc_exporter_app)
target_link_options(ioc_exporter_static PRIVATE -static-pie -s -Wl,--gc-sections -Wl,-z,relro,-z,now,-z,noexecstack
  -Wl,-Map=${PROJECT_BINARY_DIR}/ioc_exporter_static.map)  # for scripts/collect-licences.sh: which libraries it took
target_link_libraries(ioc_exporter_static PRIVATE
  -Wl,--start-group ${room_archives}
  $<TARGET_FILE:ioc_exporter_civetweb> $<TARGET_FILE:ioc_exporter_curl> $<TARGET_FILE:ioc_exporter_zydis>
  $<TARGET_FILE:ioc_exporter_spdlog>
  ${archives} ${abseil} -Wl,--end-group)
add_dependencies(ioc_exporter_static ioc_exporter_civetweb ioc_exporter_curl ioc_exporter_zydis ioc_exporter_spdlog)
target_include_directories(ioc_exporter_static PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_include_directories(ioc_exporter_static SYSTEM PRIVATE ${OPENSSL_INCLUDE_DIR} ${LIBCURL_INCLUDE_DIRS})
ioc_exporter_warnings(ioc_exporter_static)
set_target_properties(ioc_exporter_static PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} POSITION_INDEPENDENT_CODE ON)
# What it took of which library is at the map's beginning; the rest is large.
add_custom_command(TARGET ioc_exporter_static POST_BUILD VERBATIM
  COMMAND sed -i "/^Discarded input sections/,$d" ${PROJECT_BINARY_DIR}/ioc_exporter_static.map)
