#include "functions/options.h"

#include "functions/preset.h"

namespace ioc_exporter::functions {
namespace {

OptionValue preset_names(std::vector<std::string>& into) {
  return {.takes = OptionValue::Takes::several,
          .default_text = "none",
          .set = [&into](const std::string& word, bool first) -> Result<void> {
            const bool stands_alone = word == "auto" || word == "none";
            if (!first && (stands_alone || into[0] == "auto" || into[0] == "none"))
              return error_in_words("auto and none stand alone");
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
                            "auto: all that are known, none: none",
                            preset_names(options.presets)}});
}

}  // namespace ioc_exporter::functions
