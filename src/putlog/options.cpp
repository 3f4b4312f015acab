#include "putlog/options.h"

#include "shared/putlog.h"

namespace ioc_exporter::putlog {

void add_options(OptionTable& table, Options& options) {
  table.add("Collectors",
            {{"--collector.putlog collector.putlog",
              "Log each put with its value and the one before it", on_off(options.enabled)}});
  table.add(
      "Put log",
      {{"putlog.value_bytes=N", "Bytes of a value that are logged; longer values are cut",
        whole_number(options.value_bytes, IOCX_PUTLOG_SMALL, IOCX_PUTLOG_MOST_BYTES)},
       {"putlog.after", "Log also the field's value at the end of the put", on_off(options.after)},
       {"putlog.buffer=MIB",
        "Ring from the kernel to the exporter, MiB; puts without room are counted as lost",
        one_of<std::uint32_t>(options.buffer_mib, {{"1", 1},
                                                   {"2", 2},
                                                   {"4", 4},
                                                   {"8", 8},
                                                   {"16", 16},
                                                   {"32", 32},
                                                   {"64", 64},
                                                   {"128", 128}})},
       {"putlog.answers=DURATION",
        "Longest wait for a put's result before it and later puts are logged; 0: none",
        duration(options.answer_patience)}});
  add_outlet_options(table, options.outlets);
}

}  // namespace ioc_exporter::putlog
