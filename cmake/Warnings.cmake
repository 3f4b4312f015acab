# Warnings for our own targets; never applied to what is found or generated.
function(ioc_exporter_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>
    $<$<BOOL:${IOC_EXPORTER_WERROR}>:-Werror>)
endfunction()
