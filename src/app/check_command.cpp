#include "app/check_command.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/time_text.h"
#include "base/value_text.h"

namespace ioc_exporter::app {
namespace {

constexpr int kOk = 0, kWarning = 1, kCritical = 2, kUnknown = 3;  // of Nagios
constexpr std::size_t kMostValues = 100;

const std::string kTime = "ioc_exporter_time_seconds", kDetached = "ioc_exporter_detached",
                  kSuccess = "ioc_exporter_collector_success", kUp = "epics_ioc_up",
                  kExpected = "epics_ioc_expected", kWatched = "epics_ioc_records_watched",
                  kPutSource = "epics_ioc_put_source", kUnexpected = "epics_unexpected_puts_total",
                  kLastUnexpected = "epics_last_unexpected_put_timestamp_seconds",
                  kPending = "epics_ioc_put_callbacks_pending",
                  kPendingOldest = "epics_ioc_put_callback_oldest_seconds";

constexpr const char* kHelp =
    R"help(  Asks the ioc_exporter on the IOC's host for its metrics once, and prints one line about IOC, a name
  on /metrics, with performance data. The worst of these decides:

    CRITICAL  the IOC has ended, or the site expects it and it was not seen
              a put that the site's policy forbids, within the last 10 minutes
    WARNING   records, or puts by Channel Access or PV Access, are not counted; the exporter is
              detached, or its part records or puts is not complete
              a put that the policy does not expect, within the last 10 minutes
    either    a put with callback waits for longer than 15 minutes, or an hour
    UNKNOWN   no exporter answers within 10 s, or it knows no IOC of that name; wrong usage

  What the exporter does not know of an IOC is neither judged nor in the performance data.

OPTIONS
  --unexpected-within=DURATION
                       how long a put that the policy does not allow is reported (default: 10m)
  --pending=WARN,CRIT  time of the put with callback that has waited longest (default: 15m,1h)
  --metrics-path=PATH  where the metrics are (default: /metrics)
@exporter@

EXIT STATUS
  0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN

EXAMPLE
  ioc_exporter check --url=http://ioc-host:10064 --pending=1m,10m vacuum
)help";

// One line, in which a '|' begins the performance data.
CommandResult result(int status, std::string text, const std::string& data = "") {
  constexpr const char* kWords[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
  text = terminal_cell(text);
  std::ranges::replace(text, '|', '_');
  return {status, std::string("IOC ") + kWords[status] + " - " + text + data + "\n", ""};
}

Result<double> seconds_of(const std::string& option, const std::string& text) {
  const auto parsed = parse_duration(text);
  if (!parsed) return error_in_words("--" + option + ": " + parsed.error().message());
  return std::chrono::duration<double>(*parsed).count();
}

Result<CheckLimits> limits_of(const CommandLine& line) {
  const auto within = seconds_of("unexpected-within", line.values.at("unexpected-within"));
  if (!within) return within.error();
  const std::string& pending = line.values.at("pending");
  const std::size_t comma = std::min(pending.find(','), pending.size());
  const auto warning = seconds_of("pending", pending.substr(0, comma));
  const auto critical = seconds_of("pending", pending.substr(std::min(comma + 1, pending.size())));
  if (!warning || !critical) return warning ? critical.error() : warning.error();
  if (*warning <= *critical) return CheckLimits{*within, *warning, *critical};
  return error_in_words("--pending: " + shown(pending) + " warns after it is critical");
}

// Without an exponent, which plugins' readers refuse.
std::string number(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

CommandResult check_ioc(const CommandLine& line, std::FILE*) {
  const auto limits = limits_of(line);
  if (!limits) return wrong_usage(limits.error().message());
  IocValues values;
  MetricLines lines(check_families(),
                    [&](const MetricLine& series) { take(values, line.word, series); });
  // Not in pieces: it has 10 s and 64 MiB, however it comes.
  const auto page = ask_exporter(line, line.values.at("metrics-path"));
  if (!page) return result(kUnknown, page.error().message());
  lines.read(*page);
  if (const std::string problem = lines.problem(); !problem.empty())
    return result(kUnknown, not_an_exporter(line, problem).message());
  return judge(values, line.word, *limits);
}

}  // namespace

std::set<std::string, std::less<>> check_families() {
  return {kTime,      kDetached,   kSuccess,        kUp,      kExpected,     kWatched,
          kPutSource, kUnexpected, kLastUnexpected, kPending, kPendingOldest};
}

void take(IocValues& values, const std::string& ioc, const MetricLine& series) {
  if (values.size() >= kMostValues || !std::isfinite(series.value) ||
      (!series.name.starts_with("ioc_exporter_") && series.label("ioc") != ioc))
    return;
  std::string name = series.name;
  if (name == kSuccess) name += series.label("collector");
  if (name == kPutSource) name += series.label("protocol") + series.label("source");
  if (name == kLastUnexpected || name == kUnexpected) name += series.label("action");
  double& value = values[name];
  if (series.name == kUnexpected)
    value += series.value;  // of all writers
  else
    value = series.name == kLastUnexpected ? std::max(value, series.value) : series.value;
}

CommandResult judge(const IocValues& values, const std::string& ioc, const CheckLimits& limits) {
  const auto value = [&values](const std::string& name) -> std::optional<double> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
  const auto now = value(kTime), up = value(kUp);
  if (!now) return result(kUnknown, "the answer has no " + kTime);
  if (!up && !value(kExpected))
    return result(kUnknown, ioc + ": the exporter knows no IOC of that name");
  if (!up || *up == 0)
    return result(kCritical, ioc + (up ? ": has ended" : ": is expected, and was not seen"),
                  " | up=0;;1:;0;1");
  int status = kOk;
  std::string text, data = " | up=1;;1:;0;1";
  const auto add = [&](int level, const std::string& what) {
    status = std::max(status, level);
    text += (text.empty() ? "" : ", ") + what;
  };
  if (value(kDetached) == 1) add(kWarning, "the exporter is detached and counts nothing");
  for (const std::string collector : {"records", "puts"})
    if (value(kSuccess + collector) == 0)
      add(kWarning, "the exporter's part " + collector + " is not complete");
  if (value(kWatched) == 0) add(kWarning, "its records are not counted");
  if (value(kPutSource + "canone")) add(kWarning, "its puts by Channel Access are not counted");
  if (value(kPutSource + "pvanone")) add(kWarning, "its puts by PV Access are not all counted");
  for (const std::string action : {"forbidden", "unexpected", "unjudged"}) {
    const auto count = value(kUnexpected + action), last = value(kLastUnexpected + action);
    if (count) data += " " + action + "=" + number(*count) + "c";
    if (last && *now - *last <= limits.unexpected_within)
      add(action == "forbidden" ? kCritical : kWarning,
          action + " put " + span_text(*now - *last) + " ago");
  }
  if (const auto count = value(kPending)) data += " pending=" + number(*count) + ";;;0";
  if (const auto waited = value(kPendingOldest)) {
    data += " pending_oldest=" + number(*waited) + "s;" + number(limits.pending_warning) + ";" +
            number(limits.pending_critical) + ";0";
    if (*waited > limits.pending_warning)
      add(*waited > limits.pending_critical ? kCritical : kWarning,
          "a put with callback has waited for " + span_text(*waited));
  }
  return result(status, ioc + ": " + (text.empty() ? "runs" : text), data);
}

Command check_command() {
  return {"check",
          "IOC",
          "the state of an IOC, for Nagios, Icinga and the like",
          kHelp,
          {.values = {{"unexpected-within", "10m"},
                      {"pending", "15m,1h"},
                      {"metrics-path", "/metrics"}},
           .old = {{"ioc", "IOC"}, {"lock", ""}}},
          check_ioc,
          [](const std::string& why) { return result(kUnknown, why); }};
}

}  // namespace ioc_exporter::app
