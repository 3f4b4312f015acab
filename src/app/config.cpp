#include "app/config.h"

#include "base/yaml_file.h"
#include "base/yaml_reader.h"

namespace ioc_exporter::app {
namespace {

void read_group(Reader& item, std::vector<exposition::RecordGroup>& groups) {
  std::string group = item.text("group").value_or("\\1");
  if (!item.require("match")) return;
  auto match = item.pattern("match");
  if (!match) return;
  if (const auto usable = match->check_rewrite(group); !usable)
    return item.complain(item.has("group") ? "group" : "match",
                         "\"" + group + "\" cannot be made from \"" + match->text() +
                             "\": " + usable.error().message());
  groups.push_back({std::move(*match), std::move(group)});
}

// Keys that have no row in the option table.
void read_rest(const std::string& name, Reader& section, Options& options) {
  if (name == "records")
    section.list("groups", [&options](Reader& item) { read_group(item, options.records.groups); });
  if (name == "putlog") putlog::read_sinks(section, options.putlog.outlets);
  if (name == "traces") traces::read_sinks(section, options.trace_outlets);
  if (name == "limits") exposition::read_limits(section, options.limits);
}

}  // namespace

Result<Options> parse_config(const std::string& text, const std::string& name,
                             const SectionReader& read_policy, Options options) {
  Problems problems(name);
  const YAML::Node document = parse_yaml(text, problems);
  if (!problems.empty()) return problems.error();
  try {
    const OptionTable table = option_table(options);
    Reader file(document, "", problems);
    for (const char* section :
         {"site", "collector", "iocs", "records", "pvs", "putlog", "traces", "limits"})
      file.section(section, [&](Reader& reader) {
        table.set_from_file(section, reader);
        read_rest(section, reader, options);
      });
    if (read_policy)
      file.section("policy", read_policy);
    else
      file.has("policy");
    file.finish();
  } catch (const YAML::Exception& problem) {  // what no check foresaw
    problems.add({}, std::string("no valid configuration: ") + problem.what());
  }
  if (!problems.empty()) return problems.error();
  return options;
}

Result<Options> read_config(const std::string& path, const SectionReader& read_policy,
                            Options options) {
  const auto text = read_text(path);
  if (!text) return text.error();
  return parse_config(*text, path, read_policy, std::move(options));
}

}  // namespace ioc_exporter::app
