# -DIOC_EXPORTER_SANITIZE=address,undefined: all C and C++ that is ours, BPF aside. What they find ends the
# program. Tests that measure memory or time do not hold then. Leaks cannot be looked for in the exporter's
# sandbox: ASAN_OPTIONS=detect_leaks=0, or --no-security.sandbox.
if(IOC_EXPORTER_SANITIZE)
  add_compile_options(-fsanitize=${IOC_EXPORTER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${IOC_EXPORTER_SANITIZE})
endif()
