// ioc_exporter functions IOC [GLOB]
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "app/functions_session.h"
#include "app/rooms.h"
#include "base/command_line.h"
#include "base/time_text.h"
#include "base/utf8.h"
#include "base/value_text.h"
#include "functions/listing.h"
#include "functions/preset.h"

namespace ioc_exporter::app {
namespace {

constexpr std::size_t kMostCounted = 32;

const char* word_of(iocs::Unwinding unwinding) {
  return unwinding == iocs::Unwinding::lands    ? "lands"
         : unwinding == iocs::Unwinding::passes ? "passes"
                                                : "none";
}

// Calls of one function while it was counted; none: it was not.
using Calls = std::map<std::string, std::optional<std::uint64_t>>;  // by the description's name

Calls calls_of(functions::FunctionsCollector& collector, const std::string& ioc) {
  Calls calls;
  for (const auto& one : collector.watched())
    if (one.ioc == ioc) calls[one.function] = {};
  for (const auto& sample : collector.samples())
    if (sample.ioc == ioc)
      calls[sample.function] = calls[sample.function].value_or(0) + sample.calls;
  return calls;
}

// Descriptions that count listed functions: at most kMostCounted, none of common libraries.
functions::Descriptions to_count(const std::vector<functions::ListedFile>& files, bool& all) {
  functions::Descriptions some;
  for (const auto& file : files)
    for (const auto& function : file.functions) {
      auto one = functions::description_of(file, function);
      if (!one || functions::is_common_library(file.path)) continue;
      all = some.size() < kMostCounted;
      if (!all) return some;
      some.push_back(std::move(*one));
    }
  return some;
}

Json row_of(const functions::ListedFile& file, const functions::ListedFunction& function,
            const Calls& calls, double seconds) {
  const auto counted = calls.find(functions::name_of(file, function));
  const bool is_known = counted != calls.end() && counted->second;
  Json::Array described;
  for (const std::string& name : function.described) described.push_back(text_of(name));
  return {Json::Object{
      {"SYMBOL", text_of(function.symbol)},
      {"SIZE", Json{function.size}},
      {"UNWINDING", text_of(word_of(function.unwinding))},
      {"CALLS", is_known                 ? Json{*counted->second}
                : counted != calls.end() ? text_of("off")
                                         : Json()},
      {"CALLS/S", is_known ? Json{static_cast<double>(*counted->second) / seconds} : Json()},
      {"DESCRIBED BY", Json{std::move(described)}},
      {"TIMED", text_of(function.untimed.empty() ? "yes" : function.untimed)}}};
}

// A list of files; with a glob, of those that have such functions.
Json list_json(const std::vector<functions::ListedFile>& files, bool with_functions,
               const Calls& calls, double seconds) {
  Json::Array all;
  for (const auto& file : files) {
    if (with_functions && file.functions.empty()) continue;
    Json::Array functions;
    for (const auto& function : file.functions)
      if (with_functions) functions.push_back(row_of(file, function, calls, seconds));
    all.push_back(
        {Json::Object{{"FILE", text_of(file.path)},
                      {"FUNCTIONS", with_functions ? Json{std::move(functions)}
                                                   : Json{std::uint64_t{file.functions.size()}}},
                      {"NOTE", file.problem.empty() ? Json() : text_of(file.problem)}}});
  }
  return {std::move(all)};
}

const iocs::LiveIoc* find_ioc(const iocs::Host& host, const std::string& name) {
  for (const auto& [id, live] : host.live())
    if (live.ioc.name == name) return &live;
  return nullptr;
}

}  // namespace

int list_functions_command(const FunctionsAsked& asked, std::FILE* out, std::FILE* err) {
  const std::string& name = asked.words[0];
  const std::string glob = asked.words.size() > 1 ? asked.words[1] : "";
  functions::Options wanted = function_options(asked.options);
  functions::Descriptions known = std::exchange(wanted.described, {});
  for (const auto& preset : functions::shipped_presets())
    known.insert(known.end(), preset.functions.begin(), preset.functions.end());
  functions::take_out_unusable(known);
  wanted.walks.clear();
  wanted.presets = {"none"};
  const auto session = FunctionsSession::start(asked.options, wanted);
  if (!session) return failed(err, kCommandFailed, session.error().message());
  if (auto found = (*session)->tick(); !found)
    return failed(err, kCommandFailed, found.error().message());
  const iocs::LiveIoc* const ioc = find_ioc((*session)->host(), name);
  if (ioc == nullptr) return failed(err, kCommandFailed, no_such_ioc((*session)->host(), name));
  const pid_t pid = ioc->ioc.id.pid;
  auto files = functions::list_functions((*session)->readers(), ioc->ioc.id, glob,
                                         std::make_shared<const functions::Descriptions>(known));
  if (!files) return failed(err, kCommandFailed, files.error().message());
  const bool is_any =
      std::ranges::any_of(*files, [](const auto& file) { return !file.functions.empty(); });
  if (!is_any && !glob.empty())
    return failed(err, kCommandFailed, "no function of ioc " + name + " is called " + shown(glob));
  Calls calls;
  double seconds = 0;
  bool all = true;
  const auto some = glob.empty() ? functions::Descriptions() : to_count(*files, all);
  std::string problem;
  auto& collector = (*session)->collector();
  if (!some.empty()) {
    collector.describe(some, {});
    static_cast<void>((*session)->tick());
    problem = (*session)->problem();
    if (problem.empty() && collector.watched().empty())
      problem =
          "the files of ioc " + name + " cannot be opened, or no probe attached, with these rights";
  }
  if (!some.empty() && problem.empty()) {
    std::fprintf(err, "counting for %s\n", duration_text(asked.time).c_str());
    seconds = (*session)->count(asked.time);
    calls = calls_of(collector, name);
  }
  const Json listed = list_json(*files, !glob.empty(), calls, seconds);
  const Json note =
      !problem.empty() ? text_of("calls were not counted: " + problem)
      : !all           ? text_of("calls of the first 32 functions were counted")
      : some.empty() && !glob.empty()
          ? text_of("calls were not counted: not of libraries that other programs use, too")
          : Json();
  if (asked.json)
    return written_json(out, err,
                        {Json::Object{{"ioc", text_of(name)},
                                      {"pid", Json{std::int64_t{pid}}},
                                      {"seconds", Json{seconds}},
                                      {"note", note},
                                      {"files", listed}}},
                        0);
  std::string text = "ioc " + terminal_cell(name) + " (pid " + std::to_string(pid) + ")\n\n";
  if (glob.empty()) return written(out, err, text + table_text(listed), 0);
  for (const Json& file : listed.items())
    text += cell_of(file.at("FILE")) +
            (file.at("NOTE").is_null() ? "" : ": " + cell_of(file.at("NOTE"))) + "\n" +
            table_text(file.at("FUNCTIONS")) + "\n";
  if (seconds > 0) text += "counted for " + fixed(seconds) + " s\n";
  return written(out, err, text + (note.is_null() ? "" : cell_of(note) + "\n"), 0);
}

}  // namespace ioc_exporter::app
