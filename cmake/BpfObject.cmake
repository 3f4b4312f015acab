#   ioc_exporter_bpf_object(<name> SOURCE <file>.bpf.c [CPU v3])
# <file>.bpf.c -> <name>.bpf.o (clang) -> <name>.skel.h (bpftool), both in the current binary directory. Includes start
# at bpf/. The object is built again when a header that it includes changes (clang writes a dependency file).
#
# -mcpu=v2 is what Linux 5.10 knows without question; ca_tap's atomics ask for more where they can.
find_program(BPF_CLANG NAMES clang clang-14 clang-15 clang-16 clang-17 clang-18 clang-19 REQUIRED)
find_program(BPFTOOL NAMES bpftool PATHS /usr/sbin REQUIRED)
find_program(LLVM_STRIP NAMES llvm-strip llvm-strip-14 llvm-strip-15 llvm-strip-16 llvm-strip-19 REQUIRED)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64")
  set(BPF_TARGET_ARCH x86)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(BPF_TARGET_ARCH arm64)
else()
  message(FATAL_ERROR "ioc_exporter has no probes for the processor ${CMAKE_SYSTEM_PROCESSOR}")
endif()

# A cross-build has the kernel's headers for the processor that it builds for.
set(BPF_SYSROOT "")
if(CMAKE_SYSROOT)
  set(BPF_SYSROOT --sysroot=${CMAKE_SYSROOT})
endif()

function(ioc_exporter_bpf_object name)
  cmake_parse_arguments(ARG "" "SOURCE;CPU" "" ${ARGN})
  if(NOT ARG_CPU)
    set(ARG_CPU v2)
  endif()
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_SOURCE})
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.bpf.o)
  set(skeleton ${CMAKE_CURRENT_BINARY_DIR}/${name}.skel.h)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${BPF_CLANG} -O2 -g -target bpf -mcpu=${ARG_CPU} -D__TARGET_ARCH_${BPF_TARGET_ARCH}
            -ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -ffile-compilation-dir=.
            -Wall -Wextra -Werror -I${PROJECT_SOURCE_DIR}/bpf
            ${BPF_SYSROOT} -idirafter ${CMAKE_SYSROOT}/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
            -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object}
    COMMAND ${LLVM_STRIP} -g ${object}
    DEPENDS ${source}
    DEPFILE ${object}.d
    COMMENT "BPF ${name}.bpf.o"
    VERBATIM)
  add_custom_command(
    OUTPUT ${skeleton}
    COMMAND ${BPFTOOL} gen skeleton ${object} name ${name}_bpf > ${skeleton}
    DEPENDS ${object}
    COMMENT "BPF ${name}.skel.h"
    VERBATIM)
  add_custom_target(skeleton_${name} DEPENDS ${skeleton})
  add_library(ioc_exporter_bpf_${name} INTERFACE)
  add_dependencies(ioc_exporter_bpf_${name} skeleton_${name})
  # A system directory: what bpftool generates is not held to our warnings.
  target_include_directories(ioc_exporter_bpf_${name} SYSTEM INTERFACE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()
