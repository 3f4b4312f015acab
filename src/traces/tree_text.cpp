#include "traces/tree_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/command_line.h"
#include "base/utf8.h"
#include "putlog/json.h"
#include "traces/filter.h"
#include "traces/json.h"

namespace ioc_exporter::traces {
namespace {

constexpr std::size_t kDeepest = 16;       // from this depth on, a number stands in place of blanks
constexpr std::size_t kWidest = 60;        // of the column of names, that remarks are aligned
constexpr std::size_t kLongestValue = 60;  // bytes of it
constexpr const char* kBold = "\x1b[1m";
constexpr const char* kDim = "\x1b[2m";
constexpr const char* kRed = "\x1b[31m";
constexpr const char* kYellow = "\x1b[33m";
constexpr const char* kPlain = "\x1b[0m";

// All times of a trace stand in one unit, so that they can be compared at a look.
struct Unit {
  const char* name;
  double nanoseconds;
  int decimals;
};
constexpr std::array<Unit, 3> kUnits = {{{"µs", 1e3, 1}, {"ms", 1e6, 3}, {"s", 1e9, 6}}};

const Unit& unit_for(Duration whole) {
  const auto ns = whole.count();
  return kUnits[ns < 10'000'000 ? 0 : ns < 10'000'000'000 ? 1 : 2];
}

std::string text_of(Duration duration, const Unit& unit) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*f", unit.decimals,
                static_cast<double>(duration.count()) / unit.nanoseconds);
  return text;
}

// Characters, as good as it goes without their widths.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded_left(const std::string& text, std::size_t width) {
  const std::size_t own = width_of(text);
  return std::string(width > own ? width - own : 0, ' ') + text;
}

void append_part(std::string& text, const std::string& part, const char* between = "; ") {
  if (part.empty()) return;
  if (!text.empty()) text += between;
  text += part;
}

std::string local_time_of(Time time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const std::time_t since_1970 = seconds.time_since_epoch().count();
  std::tm local{};
  ::localtime_r(&since_1970, &local);
  char text[16], all[32];
  std::strftime(text, sizeof text, "%H:%M:%S", &local);
  const auto micro = std::chrono::duration_cast<std::chrono::microseconds>(time - seconds).count();
  std::snprintf(all, sizeof all, "%s.%06d", text, static_cast<int>(micro));
  return all;
}

// As a tree, from spans of which each is to stand after its parent; one that does not, or whose
// parent is missing, is a root.
struct Tree {
  explicit Tree(const std::vector<Span>& spans) : children(spans.size()), marked(spans.size()) {
    std::unordered_map<SpanId, std::size_t> by_id;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const auto parent = by_id.find(spans[i].parent);
      (parent == by_id.end() ? roots : children[parent->second]).push_back(i);
      if (spans[i].id != 0) by_id.emplace(spans[i].id, i);
    }
    for (const std::vector<std::size_t>* level = &roots; !level->empty();) {
      const std::size_t longest = *std::ranges::max_element(
          *level, {}, [&spans](std::size_t i) { return spans[i].duration; });
      marked[longest] = true;
      level = &children[longest];
    }
  }

  std::vector<std::size_t> roots;
  std::vector<std::vector<std::size_t>> children;
  std::vector<bool> marked;  // on the slowest branch
};

struct Line {
  std::size_t span = 0;
  std::string start, duration, self;
  std::string branches;  // before the name
  std::string name;
};

std::string name_of(const Span& span) {
  const std::string name = terminal_cell(span.name);
  if (span.kind == SpanKind::put) return "put " + name;
  if (span.kind == SpanKind::link_put) return "link put " + name;
  if (span.kind == SpanKind::inside_put) return "inside put " + name;
  return span.record_type.empty() ? name : name + " " + terminal_cell(span.record_type);
}

// Goes down without recursion: what is read may be as deep as it is long.
class Lines {
 public:
  Lines(const std::vector<Span>& spans, const Tree& tree, const Unit& unit)
      : spans_(spans), tree_(tree), unit_(unit) {
    for (auto root = tree.roots.rbegin(); root != tree.roots.rend(); ++root)
      waiting_.push_back({*root, 0, "", true});
    while (!waiting_.empty()) add();
  }

  std::vector<Line> all;

 private:
  struct Waiting {
    std::size_t span, depth;
    std::string before;  // blanks and bars of those above
    bool last;           // of its parent's
  };

  void add() {
    const Waiting one = std::move(waiting_.back());
    waiting_.pop_back();
    const Span& span = spans_[one.span];
    Line line;
    line.span = one.span;
    line.start = text_of(span.start - spans_.front().start, unit_);
    line.duration = text_of(span.duration, unit_);
    line.self = span.kind == SpanKind::process ? text_of(span.self, unit_) : "-";
    if (one.depth > 0) line.branches = one.before + (one.last ? "└─ " : "├─ ");
    if (one.depth > kDeepest) line.branches += "(" + std::to_string(one.depth) + ") ";
    line.name = name_of(span);
    all.push_back(std::move(line));
    std::string before = one.before;
    if (one.depth > 0 && one.depth < kDeepest) before += one.last ? "   " : "│  ";
    const auto& own = tree_.children[one.span];
    for (auto child = own.rbegin(); child != own.rend(); ++child)
      waiting_.push_back({*child, one.depth + 1, before, child == own.rbegin()});
  }

  const std::vector<Span>& spans_;
  const Tree& tree_;
  const Unit& unit_;
  std::vector<Waiting> waiting_;
};

std::string cleaned(const std::string& text) {
  return printable_utf8(text, text.size());
}

std::string severity_of(const Span& span) {
  if (span.alarm.empty()) return "";
  return cleaned(span.alarm) + (span.status.empty() ? "" : " " + cleaned(span.status));
}

std::string remark_of(const Span& span, const Unit& unit) {
  std::string text;
  if (!span.skipped.empty()) append_part(text, "skipped: " + cleaned(span.skipped));
  if (span.until_return) {
    std::string parts = "async: returned after " + text_of(*span.until_return, unit) + ", ";
    parts += span.cut ? "end not seen" : "completed after " + text_of(span.duration, unit);
    append_part(text, parts);
  } else if (span.cut) {
    append_part(text, "cut: end not seen");
  }
  if (!span.thread.empty()) append_part(text, "on " + cleaned(span.thread), " ");
  return text;
}

const char* colour_of(const std::string& alarm) {
  return alarm == "MINOR" ? kYellow : kRed;
}

std::string value_text(const putlog::Value& value) {
  std::string text;
  putlog::append_json_value(text, value);
  const bool whole = text.size() <= kLongestValue;
  return printable_utf8(text, kLongestValue) + (whole ? "" : "...");
}

// "ada@console (10.0.0.7:40112)", as far as that is known.
std::string who(const Cause& cause) {
  std::string text = cleaned(cause.user);
  if (!cause.client_host.empty()) text += "@" + cleaned(cause.client_host);
  const std::string client = cleaned(cause.client);
  if (text.empty()) return client.empty() ? "somebody" : client;
  return client.empty() ? text : text + " (" + client + ")";
}

std::string cause_text(const Cause& cause) {
  if (cause.pv.empty() && cause.client.empty()) {
    if (cause.kind == "scan" && !cause.scan.empty()) return "scan " + cleaned(cause.scan);
    return terminal_cell(cause.kind) + (cause.scan.empty() ? "" : ", " + cleaned(cause.scan));
  }
  std::string text = terminal_cell(cause.kind) + ": " + who(cause) + " put ";
  if (cause.value) text += value_text(*cause.value) + " ";
  text += "to " + terminal_cell(cause.pv);
  if (!cause.op.empty()) text += ", " + cleaned(cause.op);
  return text;
}

std::string second_line(const Trace& trace) {
  std::string text = "trace " + id_text(trace.id);
  if (!trace.thread.empty()) append_part(text, "on " + cleaned(trace.thread), " ");
  std::string why;
  for (const std::string& one : trace.why) append_part(why, cleaned(one), ", ");
  if (!why.empty()) append_part(text, "chosen: " + why);
  if (trace.parent != 0) append_part(text, "goes on from span " + id_text(trace.parent));
  return text;
}

class Painter {
 public:
  explicit Painter(bool coloured) : coloured_(coloured) {}
  std::string operator()(const char* colour, const std::string& text) const {
    return coloured_ && !text.empty() ? colour + text + kPlain : text;
  }

 private:
  const bool coloured_;
};

}  // namespace

std::string tree_text(const Trace& trace, bool coloured) {
  const Painter paint(coloured);
  const Unit& unit = unit_for(duration_of(trace));
  const Tree tree(trace.spans);
  const std::vector<Line> lines = Lines(trace.spans, tree, unit).all;
  std::string text = local_time_of(start_of(trace)) + "  " +
                     paint(kBold, terminal_cell(trace.ioc)) + "  " + cause_text(trace.cause) +
                     "\n  " + paint(kDim, second_line(trace));
  if (trace.cut) text += paint(kYellow, "; cut: not all of it was seen");
  const std::string in = std::string(" ") + unit.name;
  std::array<std::string, 3> head = {"START" + in, "DURATION" + in, "SELF" + in};
  std::array<std::size_t, 3> widths = {width_of(head[0]), width_of(head[1]), width_of(head[2])};
  std::size_t names = 0;
  for (const Line& line : lines) {
    widths[0] = std::max(widths[0], line.start.size());
    widths[1] = std::max(widths[1], line.duration.size());
    widths[2] = std::max(widths[2], line.self.size());
    names = std::max(names, width_of(line.branches) + width_of(line.name));
  }
  names = std::min(names, kWidest);
  const auto columns = [&](const auto& start, const auto& duration, const auto& self) {
    return "  " + padded_left(start, widths[0]) + "  " + padded_left(duration, widths[1]) + "  " +
           padded_left(self, widths[2]);
  };
  text += "\n" + paint(kDim, columns(head[0], head[1], head[2])) + "\n";
  for (const Line& line : lines) {
    const Span& span = trace.spans[line.span];
    const bool slow = tree.marked[line.span];
    text += columns(line.start, line.duration, line.self) + (slow ? "  * " : "    ") +
            line.branches + (slow ? paint(kBold, line.name) : line.name);
    const std::string severity = severity_of(span), remark = remark_of(span, unit);
    if (!severity.empty() || !remark.empty()) {
      const std::size_t own = width_of(line.branches) + width_of(line.name);
      text.append(2 + (own < names ? names - own : 0), ' ');
      text += paint(colour_of(span.alarm), severity);
      if (!severity.empty() && !remark.empty()) text += "; ";
      text += paint(span.cut ? kYellow : kDim, remark);
    }
    text += '\n';
  }
  return text + "\n";
}

}  // namespace ioc_exporter::traces
