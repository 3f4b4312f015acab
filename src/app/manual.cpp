#include "app/manual.h"

namespace ioc_exporter::app {

std::string option_reference(const OptionTable& table) {
  std::string text;
  for (const OptionGroup& group : table.groups()) {
    text.append(text.empty() ? "" : "\n").append("### " + group.title + "\n\n");
    text += "| option | default | what |\n|---|---|---|\n";
    for (const OptionRow& row : group.rows) {
      const std::string argument = row.argument.empty() ? "" : "=" + row.argument;
      const std::string flag = row.flag.empty() ? "" : "`--" + row.flag + argument + "`";
      const std::string key = row.key.empty() ? "" : "`" + row.key + "`";
      const std::string& value = row.value.default_text;
      text.append("| " + flag + (flag.empty() || key.empty() ? "" : " ") + key + " | ")
          .append(value.empty() ? "" : "`" + value + "`")
          .append(" | " + row.help_text() + " |\n");
    }
  }
  return text;
}

}  // namespace ioc_exporter::app
