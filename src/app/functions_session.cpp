#include "app/functions_session.h"

#include <pthread.h>

#include <algorithm>

#include "app/confinement.h"
#include "app/helpers.h"
#include "app/host_loop.h"
#include "app/lifecycle_signals.h"
#include "app/rooms.h"
#include "base/command_line.h"
#include "base/value_text.h"
#include "exposition/json_text.h"

namespace ioc_exporter::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookPatience{20'000};

}  // namespace

FunctionsSession::FunctionsSession(const Options& options, const functions::Options& wanted)
    : readers_(std::make_shared<iocs::ReaderPool>(RootedFs(), iocs::ReaderPool::kLongest)),
      host_(RootedFs(), host_options(options, readers_)),
      collector_(host_, wanted) {}

Result<std::unique_ptr<FunctionsSession>> FunctionsSession::start(
    const Options& options, const functions::Options& wanted) {
  const sigset_t to_stop = stop_signals();
  pthread_sigmask(SIG_BLOCK, &to_stop, nullptr);
  std::unique_ptr<FunctionsSession> session(new FunctionsSession(options, wanted));
  const HelperUsers users{{}, nullptr, session->readers_.get(), &session->collector_};
  auto helper = start_attach_helper(users, options);
  if (!helper) return std::move(helper).error();
  session->helper_ = std::move(*helper);
  if (auto confined = confine(options); !confined) return confined.error();
  return session;
}

std::string FunctionsSession::problem() const {
  const auto probes = collector_.probes();
  return probes.empty() ? "" : probes[0].problem;
}

Result<void> FunctionsSession::tick() {
  Collector* const only[] = {&collector_};
  return look_at_host(host_, only, Clock::now(), kLookPatience);
}

double FunctionsSession::count(std::chrono::milliseconds time) {
  const auto begin = Clock::now();
  while (Clock::now() < begin + time) {
    if (stopped_before(std::min(begin + time, Clock::now() + std::chrono::seconds(1)))) break;
    static_cast<void>(tick());
  }
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::string no_such_ioc(const iocs::Host& host, const std::string& name) {
  std::string names;
  for (const auto& [id, live] : host.live()) names += (names.empty() ? "" : ", ") + live.ioc.name;
  return "no IOC is called " + shown(name) + ": " +
         (names.empty() ? "none was found" : "there are " + terminal_cell(names));
}

int failed(std::FILE* err, int status, const std::string& why) {
  std::fprintf(err, "ioc_exporter functions: %s\n", why.c_str());
  return status;
}

int written(std::FILE* out, std::FILE* err, const std::string& text, int status) {
  const bool whole = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  return std::fflush(out) == 0 && whole
             ? status
             : failed(err, kCommandFailed, "write to standard output failed");
}

int written_json(std::FILE* out, std::FILE* err, const Json& json, int status) {
  std::string text;
  exposition::append_json(text, json);
  return written(out, err, text + "\n", status);
}

Json text_of(std::string_view text) {
  return {std::string(text)};
}

std::string fixed(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", number);
  return text;
}

std::string cell_of(const Json& value) {
  if (value.is_null()) return "-";
  if (const auto* const number = value.get_if<double>()) return fixed(*number);
  if (const auto* const text = value.get_if<std::string>()) return terminal_cell(*text);
  std::string all;
  if (const auto* const array = value.get_if<Json::Array>()) {
    for (const Json& one : *array) all += (all.empty() ? "" : ", ") + cell_of(one);
    return all.empty() ? "-" : all;
  }
  exposition::append_json(all, value);
  return all;
}

std::string table_text(const Json& rows) {
  std::vector<TableRow> table(1);
  if (rows.items().empty()) return "no file could be read\n";
  for (const auto& [key, value] : std::get<Json::Object>(rows.items().front().value))
    table[0].push_back(key);
  for (const Json& row : rows.items()) {
    table.emplace_back();
    for (const auto& [key, value] : std::get<Json::Object>(row.value))
      table.back().push_back(cell_of(value));
  }
  return text_table(table);
}

}  // namespace ioc_exporter::app
