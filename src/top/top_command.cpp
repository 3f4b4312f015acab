#include "top/top_command.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/command_line.h"
#include "base/time_text.h"
#include "base/value_text.h"
#include "top/reading.h"
#include "top/screen.h"
#include "top/tables.h"

namespace ioc_exporter::top {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kFailed = 1, kUsage = 2;
constexpr milliseconds kShortest{100}, kLongest = std::chrono::hours(1);
constexpr std::size_t kLinesAbove = 3;  // summary, keys, blank

constexpr const char* kTopHelp = R"help(NAME
  ioc_exporter top - which records, IOCs and clients are busy now

SYNOPSIS
  ioc_exporter top [--by=records|iocs|clients] [--interval=DURATION] [--once] [--url=URL]

DESCRIPTION
  Asks the ioc_exporter on the IOC's host for its metrics at each interval, and shows the rates
  between, the busiest first:

    records  SELF %    of one core, without the records that a record processed in turn
             CALLS/S   processings a second
             µs/CALL   own time of one
    iocs     CPU %     of the IOC's process, of one core
             SELF %    of that, its records
             CALLS/S, PUTS/S, clients' CIRCUITS, resident memory in MiB
    clients  PUTS/S    by Channel Access and PV Access, of one client
             IOCS, PVS that it wrote to, and the PV with most of its puts

  Keys: r, i and c show records, IOCs and clients, q and Ctrl-C end. If the output is no terminal, it
  prints one table after one interval. Any user may ask. Each interval costs the exporter a scrape.

OPTIONS
  --by=TABLE           the first table: records (the default), iocs or clients
  --interval=DURATION  100ms to 1h (default: 2s)
  --once               print one table, also on a terminal
  --metrics-path=PATH  where the metrics are (default: /metrics)
@exporter@
  --help               print this text

EXIT STATUS
  0 done, 1 no exporter answered, 2 wrong usage

EXAMPLES
  ioc_exporter top
  ioc_exporter top --by=clients --interval=10s --once
)help";

// `why` may contain the other side's words.
int fail(std::FILE* err, int status, const std::string& why) {
  std::fprintf(err, "ioc_exporter top: %s\n", terminal_cell(why).c_str());
  return status;
}

bool print(std::FILE* out, const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), out) == text.size() && std::fflush(out) == 0;
}

struct Wanted {
  By by = By::records;
  milliseconds interval{2000};
};

Result<Wanted> wanted_of(const CommandLine& line) {
  Wanted wanted;
  const std::string& by = line.values.at("by");
  constexpr std::array<const char*, 3> kNames = {"records", "iocs", "clients"};
  const auto known = std::ranges::find(kNames, by);
  if (known == kNames.end())
    return error_in_words("--by: " + shown(by) + " is none of records, iocs and clients");
  wanted.by = static_cast<By>(known - kNames.begin());
  const auto interval = parse_duration(line.values.at("interval"));
  if (!interval) return error_in_words("--interval: " + interval.error().message());
  if (*interval < kShortest || *interval > kLongest)
    return error_in_words("--interval: " + shown(line.values.at("interval")) +
                          " is not from 100ms to 1h");
  wanted.interval = *interval;
  return wanted;
}

int print_once(const CommandLine& line, const Wanted& wanted, std::FILE* out, std::FILE* err) {
  const auto before = fetch_reading(line);
  if (!before) return fail(err, kFailed, before.error().message());
  std::this_thread::sleep_for(wanted.interval);
  const auto now = fetch_reading(line);
  if (!now) return fail(err, kFailed, now.error().message());
  const Table table = table_of(wanted.by, *before, *now, SIZE_MAX);
  std::string text = table.summary + "\n\n";
  for (const std::string& one : lines_of(table, SIZE_MAX)) text += one + "\n";
  if (!table.note.empty()) text += table.note + "\n";
  return print(out, text) ? 0 : kFailed;
}

std::string local_time_now() {
  const std::time_t seconds = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char text[16];
  std::strftime(text, sizeof text, "%H:%M:%S", &local);
  return text;
}

// The screen, until the user has seen enough.
class Show {
 public:
  Show(const CommandLine& line, const Wanted& wanted, Screen& screen)
      : by_(wanted.by), interval_(wanted.interval), screen_(screen), fetcher_(line) {}

  // The status; the error where the first scrape fails.
  Result<int> run() {
    auto next = Clock::now();
    while (true) {
      if (Clock::now() >= next) {
        fetcher_.begin();
        next = Clock::now() + interval_;
      }
      const auto patience =
          std::max(milliseconds(1), std::chrono::ceil<milliseconds>(next - Clock::now()));
      const Screen::Happened happened = screen_.wait(patience, fetcher_.ready_fd());
      if (happened.event == Screen::Event::ended || happened.key == 'q') return 0;
      if (happened.key == 'r') by_ = By::records;
      if (happened.key == 'i') by_ = By::iocs;
      if (happened.key == 'c') by_ = By::clients;
      if (happened.event == Screen::Event::woken && !take()) return error_in_words(problem_);
      // The first interval is short, so that one need not wait for a whole one.
      if (happened.event == Screen::Event::woken && !before_)
        next = std::min(next, Clock::now() + milliseconds(500));
      if (happened.event != Screen::Event::none && !draw()) return kFailed;
    }
  }
  bool under_way() const { return fetcher_.under_way(); }

 private:
  // False: the first one failed. Later ones may: the exporter may be started again.
  bool take() {
    auto reading = fetcher_.take();
    if (!reading) return true;
    problem_ = *reading ? "" : reading->error().message();
    if (!*reading) return now_.has_value();
    before_ = std::move(now_);
    now_ = std::move(**reading);
    taken_ = local_time_now();
    return true;
  }

  bool draw() const {
    const Screen::Size size = screen_.size();
    const std::size_t rows = size.lines > kLinesAbove + 2 ? size.lines - kLinesAbove - 2 : 1;
    std::vector<std::string> lines = {"ioc_exporter top", "r records  i IOCs  c clients  q end",
                                      ""};
    if (now_ && before_) {
      const Table table = table_of(by_, *before_, *now_, rows);
      lines[0] += " - " + taken_ + "; " + table.summary;
      for (std::string& one : lines_of(table, size.columns)) lines.push_back(std::move(one));
      if (!table.note.empty()) lines.push_back(table.note);
    } else {
      lines.emplace_back("...");
    }
    if (!problem_.empty()) lines[2] = terminal_cell(problem_);
    for (std::string& one : lines) one = cut_to(one, size.columns);
    return screen_.show(lines);
  }

  By by_;
  const milliseconds interval_;
  Screen& screen_;
  Fetcher fetcher_;
  std::optional<Reading> before_, now_;
  std::string problem_, taken_;
};

int show(const CommandLine& line, const Wanted& wanted, std::FILE* out, std::FILE* err) {
  auto screen = Screen::take(STDIN_FILENO, out);
  if (!screen) return fail(err, kFailed, screen.error().message());
  Show view(line, wanted, **screen);
  const auto status = view.run();
  screen->reset();
  if (!status) return fail(err, kFailed, status.error().message());
  // A scrape may take its time; nobody waits for it.
  if (view.under_way()) std::_Exit(*status);
  return *status;
}

}  // namespace

int top_command(int count, const char* const* arguments, std::FILE* out, std::FILE* err) {
  const auto line = parse_command(
      with_exporter_options(
          {{{"by", "records"}, {"interval", "2s"}, {"metrics-path", "/metrics"}}, {"once"}}),
      count, arguments);
  const auto usage = [err](const std::string& why) {
    return fail(err, kUsage, why + " (see ioc_exporter top --help)");
  };
  if (!line) return usage(line.error().message());
  if (line->given.contains("help")) return print(out, with_exporter_help(kTopHelp)) ? 0 : kFailed;
  if (!line->words.empty()) return usage("unexpected argument \"" + line->words.front() + "\"");
  const auto wanted = wanted_of(*line);
  if (!wanted) return usage(wanted.error().message());
  const bool terminal = ::isatty(::fileno(out)) == 1 && ::isatty(STDIN_FILENO) == 1;
  return terminal && !line->given.contains("once") ? show(*line, *wanted, out, err)
                                                   : print_once(*line, *wanted, out, err);
}

}  // namespace ioc_exporter::top
