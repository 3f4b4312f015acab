// ioc_exporter functions try FILE [IOC]
#include <re2/re2.h>

#include <set>
#include <sstream>
#include <utility>

#include "app/functions_session.h"
#include "app/rooms.h"
#include "app/site_config.h"
#include "base/command_line.h"
#include "base/time_text.h"
#include "base/utf8.h"
#include "base/value_text.h"
#include "base/yaml_reader.h"
#include "exposition/page.h"
#include "exposition/text_encoder.h"
#include "functions/preset.h"

namespace ioc_exporter::app {
namespace {

// The descriptions of a site's file, or of one that ships.
Result<functions::Options> described_by(const std::string& path, functions::Options options) {
  auto site = read_config(path);
  if (site) {
    options.described = std::move(site->functions.described);
    options.walks = std::move(site->functions.walks);
    return options;
  }
  const auto text = read_text(path);
  if (!text || (!text->starts_with("preset:") && text->find("\npreset:") == std::string::npos))
    return site.error();
  auto preset = functions::parse_preset(*text, path);
  if (!preset) return preset.error();
  options.described = std::move(preset->functions);
  options.walks = std::move(preset->walks);
  return options;
}

Json rows_of(const exposition::StatusTable& table) {
  Json::Array rows;
  for (const auto& row : table.rows) {
    Json::Object made;
    for (std::size_t i = 0; i < row.size(); ++i)
      made.push_back({table.columns[i].title, text_of(row[i])});
    rows.push_back({std::move(made)});
  }
  return {std::move(rows)};
}

// Series without the buckets of histograms, a line each.
std::string series_of(const std::string& page) {
  std::string series;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    const auto name = line.substr(0, line.find_first_of("{ "));
    if (!line.starts_with('#') && !name.ends_with("_bucket"))
      series += printable_utf8(line, line.size()) + "\n";
  }
  return series;
}

}  // namespace

int try_functions_command(const FunctionsAsked& asked, std::FILE* out, std::FILE* err) {
  const std::string& path = asked.words[0];
  functions::Options base = function_options(asked.options);
  base.presets = {"none"};
  const auto wanted = described_by(path, std::move(base));
  if (!wanted) return failed(err, kCommandFailed, wanted.error().message());
  if (wanted->described.empty() && wanted->walks.empty())
    return failed(err, kCommandFailed, path + " describes no functions and no walks");
  Options options = asked.options;
  if (asked.words.size() > 1) {
    auto one = Pattern::compile(re2::RE2::QuoteMeta(asked.words[1]));
    if (!one) return failed(err, kCommandUsage, one.error().message());
    options.iocs.filter = {std::move(*one), {}};
  }
  const auto session = FunctionsSession::start(options, *wanted);
  if (!session) return failed(err, kCommandFailed, session.error().message());
  auto& collector = (*session)->collector();
  static_cast<void>((*session)->tick());
  if ((*session)->host().live().empty())
    return failed(err, kCommandFailed,
                  asked.words.size() > 1 ? no_such_ioc((*session)->host(), asked.words[1])
                                         : "no IOC was found on this host");
  if (const std::string problem = (*session)->problem(); !problem.empty())
    return failed(err, kCommandFailed, problem);
  std::fprintf(err, "counting for %s\n", duration_text(asked.time).c_str());
  const double seconds = (*session)->count(asked.time);

  exposition::TextEncoder encoder;
  exposition::Page page{encoder};
  collector.collect(page);
  const std::string series = encoder.take();
  exposition::StatusPage status;
  collector.status(status);
  std::set<std::string> missing;
  for (const auto& one : wanted->described) missing.insert(one.name);
  for (const auto& one : collector.watched()) missing.erase(one.function);
  for (const auto& one : wanted->walks) missing.insert(one.name);
  for (const std::string& walk : collector.fitting_walks()) missing.erase(walk);
  const int result = missing.empty() ? 0 : kCommandFailed;
  Json::Object tables;
  Json::Array lost, not_found;
  for (const auto& table : status.tables) tables.push_back({table.title, rows_of(table)});
  for (const auto& drop : status.self.drops)
    if (drop.count > 0)
      lost.push_back({Json::Object{{"REASON", text_of(drop.reason)}, {"COUNT", Json{drop.count}}}});
  for (const std::string& name : missing) not_found.push_back(text_of(name));
  if (asked.json)
    return written_json(out, err,
                        {Json::Object{{"seconds", Json{seconds}},
                                      {"tables", Json{std::move(tables)}},
                                      {"missing", Json{std::move(not_found)}},
                                      {"dropped", Json{std::move(lost)}},
                                      {"metrics", text_of(series)}}},
                        result);
  tables.push_back({"Not counted in full, or label left empty", Json{std::move(lost)}});
  std::string text;
  for (const auto& [title, rows] : tables)
    if (!rows.items().empty()) text += title + "\n" + table_text(rows) + "\n";
  text += "Metrics after " + fixed(seconds) + " s\n" + series_of(series);
  for (const std::string& name : missing) text += "Not found: " + terminal_cell(name) + "\n";
  return written(out, err, text, result);
}

}  // namespace ioc_exporter::app
