#include "functions/walk.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <span>

#include "iocs/memory/process_reader.h"

namespace ioc_exporter::functions {
namespace {

// Seconds from 1970 to 1990, when EPICS' time begins.
constexpr double kEpicsEpoch = 631152000;

// Reads of one walk are few, and end in time.
class BoundedMemory final : public iocs::Memory {
 public:
  BoundedMemory(iocs::Memory& memory, const WalkBounds& bounds)
      : memory_(memory), reads_left_(bounds.reads), until_(Clock::now() + bounds.time) {}

  Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> into) override {
    if (reads_left_ == 0 || Clock::now() > until_) is_over_ = true;
    if (is_over_) return error_in_words("reading it takes too long");
    --reads_left_;
    auto got = memory_.read_some(address, into);
    if (!got && iocs::is_for_now(got.error())) for_now_ = got.error();
    return got;
  }
  bool is_over() const { return is_over_; }
  const std::optional<Error>& for_now() const { return for_now_; }

 private:
  using Clock = std::chrono::steady_clock;
  iocs::Memory& memory_;
  std::uint64_t reads_left_;
  Clock::time_point until_;
  bool is_over_ = false;
  std::optional<Error> for_now_;
};

bool holds(const Range& range, double number) {
  return number >= static_cast<double>(range.least) && number <= static_cast<double>(range.most);
}

class Walker {
 public:
  Walker(const Walk& walk, const Roots& variables, iocs::Memory& memory, const WalkBounds& bounds)
      : walk_(walk),
        variables_(variables),
        bounds_(bounds),
        bounded_(memory, bounds),
        memory_(bounded_),
        visits_(walk.loops.size()) {}

  Result<Walked> run() {
    auto done = loop(0);
    if (bounded_.for_now()) return *bounded_.for_now();
    if (done && bounded_.is_over()) done = error_in_words("reading it takes too long");
    if (!done) {
      out_ = Walked();
      out_.unfit = 1;
      out_.is_cut = bounded_.is_over();
      out_.problem = done.error().message();
    }
    return std::move(out_);
  }

 private:
  Roots roots() const {
    return [this](const std::string& name) -> std::optional<std::uint64_t> {
      const auto item = items_.find(name);
      return item != items_.end() ? std::optional(item->second) : variables_(name);
    };
  }
  Result<std::uint64_t> place(const Value& value) { return place_of(value, roots(), memory_); }

  // An error: the list makes no sense, so that nothing of the walk may be shown.
  Result<void> loop(std::size_t depth) {
    if (depth == walk_.loops.size()) return item(), Result<void>();
    const WalkLoop& loop = walk_.loops[depth];
    if (depth == 0 && leads_nowhere(*loop.first, variables_, memory_)) return {};  // no list yet
    std::optional<std::uint64_t> count;
    if (loop.count) {
      auto value = evaluate(*loop.count, roots(), memory_);
      if (!value) return value.error();
      if (!(value->number >= 0 && value->number <= bounds_.items))
        return error_in_words(loop.count->source + ": " + value->text + " items make no sense");
      count = static_cast<std::uint64_t>(value->number);
    }
    const auto first = place(*loop.first);
    if (!first) return first.error();
    auto done = loop.next ? linked(depth, *first, count) : array(depth, *first, *count);
    items_.erase(loop.item);
    return done;
  }

  Result<void> visit(std::size_t depth, std::uint64_t at) {
    if (++visits_[depth] > bounds_.items) return error_in_words("more items than there can be");
    items_[walk_.loops[depth].item] = at;
    return loop(depth + 1);
  }

  Result<void> linked(std::size_t depth, std::uint64_t at, std::optional<std::uint64_t> count) {
    const WalkLoop& loop = walk_.loops[depth];
    std::uint64_t before = 0, seen = 0;
    while (at != 0) {
      if (!iocs::is_pointer(at))
        return error_in_words(loop.item + " at " + iocs::hex_address(at) + " makes no sense");
      items_[loop.item] = at;
      if (loop.back) {
        const auto back = place(*loop.back);
        if (!back) return back.error();
        if (*back != before) return error_in_words("the list of " + loop.item + " leads not back");
      }
      ++seen;
      if (auto done = visit(depth, at); !done) return done;
      const auto next = place(*loop.next);
      if (!next) return next.error();
      before = std::exchange(at, *next);
    }
    if (count && *count != seen)
      return error_in_words("the list of " + loop.item + " has " + std::to_string(seen) +
                            " items, and says " + std::to_string(*count));
    return {};
  }

  Result<void> array(std::size_t depth, std::uint64_t first, std::uint64_t count) {
    const WalkLoop& loop = walk_.loops[depth];
    if (count > 0 && !iocs::is_pointer(first))
      return error_in_words(loop.item + " at " + iocs::hex_address(first) + " makes no sense");
    if (loop.at) {
      const auto at = evaluate(*loop.at, roots(), memory_);
      if (!at) return at.error();
      if (at->number < 0) return {};  // there is none now
      if (!(at->number < static_cast<double>(count)))
        return error_in_words(loop.at->source + ": there is no " + loop.item + " " + at->text);
      return visit(depth, first + loop.stride * static_cast<std::uint64_t>(at->number));
    }
    for (std::uint64_t i = 0; i < count; ++i)
      if (auto done = visit(depth, first + i * loop.stride); !done) return done;
    return {};
  }

  void item() {
    auto samples = samples_of_item();
    if (!samples) {
      ++out_.unfit;
      if (out_.problem.empty()) out_.problem = samples.error().message();
      return;
    }
    ++out_.items;
    std::ranges::move(*samples, std::back_inserter(out_.samples));
  }

  Result<std::vector<WalkSample>> samples_of_item() {
    for (const WalkAnchor& anchor : walk_.anchors) {
      const auto left = place(anchor.left);
      const auto right =
          anchor.right ? place(*anchor.right) : Result(static_cast<std::uint64_t>(anchor.number));
      if (!left) return left.error();
      if (!right) return right.error();
      if (*left != *right) return error_in_words(anchor.text + " does not hold");
    }
    Labels labels;
    if (auto ok = add_labels(walk_.labels, labels); !ok) return ok.error();
    std::vector<WalkSample> samples;
    for (std::uint32_t i = 0; i < walk_.metrics.size(); ++i) {
      const WalkMetric& metric = walk_.metrics[i];
      WalkSample sample{i, labels, 1};
      if (auto ok = add_labels(metric.labels, sample.labels); !ok) return ok.error();
      const auto value = value_of(metric);
      if (!value) return value.error();
      if (!*value) continue;
      sample.value = **value;
      if (!seen_.emplace(metric.name, sample.labels).second)
        return error_in_words("another item has the same labels");
      samples.push_back(std::move(sample));
    }
    out_.names.insert(labels.begin(), labels.end());
    return samples;
  }

  // Nothing: there is no such time yet.
  Result<std::optional<double>> value_of(const WalkMetric& metric) {
    if (!metric.value) return std::optional(1.0);
    const auto value = evaluate(*metric.value, roots(), memory_);
    if (!value) return value.error();
    const double number = value->number;
    // Times and reals of structs that are others are not finite, or of another century.
    constexpr double kHundredYears = 3.2e9;
    const bool fits = std::isfinite(number) && (!metric.only || holds(*metric.only, number)) &&
                      (!metric.epics_time || (number >= 0 && number < kHundredYears));
    if (!fits) return error_in_words(metric.name + ": " + metric.value->source + " makes no sense");
    if (!metric.epics_time) return std::optional(number);
    return number == 0 ? std::optional<double>() : std::optional(number + kEpicsEpoch);
  }

  using Labels = std::vector<std::pair<std::string, std::string>>;
  Result<void> add_labels(const std::vector<WalkLabel>& labels, Labels& into) {
    for (const WalkLabel& label : labels) {
      if (!label.value) {
        into.emplace_back(label.name, label.text);
        continue;
      }
      const auto value = evaluate(*label.value, roots(), memory_);
      if (!value) return value.error();
      if (!prints(value->text)) return error_in_words(label.value->source + ": there is no name");
      into.emplace_back(label.name, value->text);
    }
    return {};
  }

  const Walk& walk_;
  const Roots& variables_;
  const WalkBounds& bounds_;
  BoundedMemory bounded_;
  iocs::CachedMemory memory_;
  std::map<std::string, std::uint64_t> items_;
  std::set<std::pair<std::string, Labels>> seen_;
  std::vector<std::uint32_t> visits_;  // by loop
  Walked out_;
};

}  // namespace

Result<Walked> walk(const Walk& walk, const Roots& variables, iocs::Memory& memory,
                    const WalkBounds& bounds) {
  return Walker(walk, variables, memory, bounds).run();
}

}  // namespace ioc_exporter::functions
