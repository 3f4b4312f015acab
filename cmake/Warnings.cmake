# Warnings for our own targets; never applied to what is found or generated.
function(ioc_exporter_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>
    # LIBBPF_OPTS() is made of them.
    $<$<CXX_COMPILER_ID:Clang>:-Wno-c99-extensions -Wno-gnu-statement-expression>
    # Several sources compiled as one: what is private to one of them looks as if it were in a header.
    $<$<AND:$<BOOL:${CMAKE_UNITY_BUILD}>,$<COMPILE_LANG_AND_ID:CXX,GNU>>:-Wno-subobject-linkage>
    $<$<BOOL:${IOC_EXPORTER_WERROR}>:-Werror>)
endfunction()
