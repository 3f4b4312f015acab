# bpf/<stem>.bpf.c -> build/bpf/<stem>.bpf.o (clang) -> build/bpf/<stem>.skel.h (bpftool).
#
# The object is built again when a header under bpf/shared changes (clang writes a dependency file).
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

function(ioc_exporter_bpf_object stem)
  cmake_parse_arguments(ARG "" "CPU" "" ${ARGN})
  if(NOT ARG_CPU)
    set(ARG_CPU v2)
  endif()
  set(source ${CMAKE_CURRENT_SOURCE_DIR}/${stem}.bpf.c)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${stem}.bpf.o)
  set(skeleton ${CMAKE_CURRENT_BINARY_DIR}/${stem}.skel.h)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${BPF_CLANG} -O2 -g -target bpf -mcpu=${ARG_CPU} -D__TARGET_ARCH_${BPF_TARGET_ARCH}
            -Wall -Wextra -Werror -I${CMAKE_CURRENT_SOURCE_DIR}
            -idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
            -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object}
    COMMAND ${LLVM_STRIP} -g ${object}
    DEPENDS ${source}
    DEPFILE ${object}.d
    COMMENT "BPF ${stem}.bpf.o"
    VERBATIM)
  add_custom_command(
    OUTPUT ${skeleton}
    COMMAND ${BPFTOOL} gen skeleton ${object} name ${stem}_bpf > ${skeleton}
    DEPENDS ${object}
    COMMENT "BPF ${stem}.skel.h"
    VERBATIM)
  add_custom_target(skeleton_${stem} DEPENDS ${skeleton})
  add_library(ioc_exporter_bpf_${stem} INTERFACE)
  add_dependencies(ioc_exporter_bpf_${stem} skeleton_${stem})
  # A system directory: what bpftool generates is not held to our warnings.
  target_include_directories(ioc_exporter_bpf_${stem} SYSTEM INTERFACE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()
