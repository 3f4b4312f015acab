#include "traces/flame.h"

#include <algorithm>
#include <unordered_map>

#include "base/command_line.h"

namespace ioc_exporter::traces {
namespace {

constexpr const char* kOthers = "(others)";

std::string frame_name(std::string name) {
  name = terminal_cell(name);
  std::ranges::replace(name, ';', ',');
  return name;
}

// Cause of the trace, where no span names it.
std::string cause_name(const Cause& cause) {
  return cause.scan.empty() ? cause.kind : cause.kind + " " + cause.scan;
}

std::string span_name(const Span& span) {
  if (span.kind == SpanKind::put) return "put " + span.name;
  if (span.kind == SpanKind::link_put) return "link put " + span.name;
  if (span.kind == SpanKind::inside_put) return "inside put " + span.name;
  return span.name;
}

}  // namespace

std::size_t Flame::below(std::size_t frame, const std::string& name) {
  if (frames_[frame].depth >= kDeepest || frames_[frame].name == kOthers) return frame;
  const auto& there = frames_[frame].below;
  if (const auto found = there.find(name); found != there.end()) return found->second;
  const bool has_room = frames_.size() < most_;
  if (!has_room)
    if (const auto others = there.find(kOthers); others != there.end()) return others->second;
  const std::size_t fresh = frames_.size();
  frames_[frame].below.emplace(has_room ? name : kOthers, fresh);
  frames_.push_back(
      {.name = has_room ? name : kOthers, .depth = frames_[frame].depth + 1, .below = {}});
  return fresh;
}

void Flame::add(const Trace& trace) {
  ++traces_;
  const std::size_t ioc = below(0, frame_name(trace.ioc));
  std::unordered_map<SpanId, std::size_t> by_id;
  for (const Span& span : trace.spans) {
    const auto parent = by_id.find(span.parent);
    std::size_t above = parent == by_id.end() ? ioc : parent->second;
    if (parent == by_id.end() &&
        (span.kind == SpanKind::process || span.kind == SpanKind::link_put))
      above = below(ioc, frame_name(cause_name(trace.cause)));
    const std::size_t own = below(above, frame_name(span_name(span)));
    ++frames_[own].calls;
    frames_[own].self += std::max(span.self, Duration(0));
    if (span.id != 0) by_id.emplace(span.id, own);
  }
}

std::vector<Flame::Frame> Flame::frames() const {
  std::vector<Frame> all = frames_;
  for (std::size_t i = all.size(); i-- > 0;) {
    all[i].whole += all[i].self;
    for (const auto& [name, child] : all[i].below) all[i].whole += all[child].whole;
  }
  return all;
}

std::string Flame::folded() const {
  struct Waiting {
    std::size_t frame;
    std::string stack;
  };
  std::string text;
  std::vector<Waiting> waiting = {{0, ""}};
  while (!waiting.empty()) {
    const Waiting one = std::move(waiting.back());
    waiting.pop_back();
    const Frame& frame = frames_[one.frame];
    if (frame.self > Duration(0))
      text += one.stack + " " + std::to_string(frame.self.count()) + "\n";
    for (auto child = frame.below.rbegin(); child != frame.below.rend(); ++child)
      waiting.push_back({child->second, one.stack + (one.frame == 0 ? "" : ";") + child->first});
  }
  return text;
}

}  // namespace ioc_exporter::traces
