# Precompiled headers, for builds that are made often: -DIOC_EXPORTER_PCH=ON. What users get is built without, so that
# each file includes what it needs. The first target that asks for a list makes it, the others use that.
option(IOC_EXPORTER_PCH "Precompile the headers that most files include" OFF)

#   ioc_exporter_precompiled(<target> <maker> <header> ...)
function(ioc_exporter_precompiled target maker)
  if(NOT IOC_EXPORTER_PCH)
    return()
  endif()
  if(target STREQUAL maker)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${maker})
  endif()
endfunction()
