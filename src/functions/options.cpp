#include "functions/options.h"

#include "functions/preset.h"

namespace ioc_exporter::functions {
namespace {

OptionValue preset_names(std::vector<std::string>& into) {
  return {.takes = OptionValue::Takes::several,
          .default_text = "auto",
          .set = [&into](const std::string& word, bool first) -> Result<void> {
            if (!first && (word == "none" || into[0] == "none"))
              return error_in_words("none stands alone");
            if (const auto known = chosen_presets({word}); !known) return known.error();
            if (first) into.clear();
            into.push_back(word);
            return {};
          }};
}

}  // namespace

void add_options(OptionTable& table, Options& options) {
  table.add("Collectors", {{"--functions.presets=LIST",
                            "Modules that are measured where an IOC loads them, such as "
                            "asyn,stream (docs/functions.md); "
                            "auto: all but iocsh, none: none",
                            preset_names(options.presets)}});
}

}  // namespace ioc_exporter::functions
