#include "functions/walk.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <span>

#include "base/value_text.h"
#include "base/yaml_reader.h"
#include "iocs/memory/process_reader.h"

namespace ioc_exporter::functions {
namespace {

// Seconds from 1970 to 1990, when EPICS' time begins.
constexpr double kEpicsEpoch = 631152000;
constexpr std::size_t kMostWalks = 256, kMostLoops = 4, kMostMetrics = 32, kMostLabels = 8;

bool is_of_call(const Value& value) {
  return value.from_argument() || value.from_return() || value.from_symbol();
}

// A walk looks at memory: there is no call.
Result<Value> parse_memory(std::string_view text, Result<Value> (*parse)(std::string_view)) {
  auto value = parse(text);
  if (value && is_of_call(*value))
    return error_in_words("there is no call whose " + value->root + " it could be");
  return value;
}

std::optional<Value> read_memory_value(Reader& item, const std::string& key,
                                       Result<Value> (*parse)(std::string_view)) {
  const auto text = item.text(key);
  if (!text) return {};
  auto value = parse_memory(*text, parse);
  if (value) return std::move(*value);
  item.complain(key, "\"" + *text + "\": " + value.error().message());
  return {};
}

WalkLoop read_loop(Reader& item) {
  WalkLoop loop;
  if (item.require("item")) loop.item = item.text("item").value_or("");
  if (const auto name = Value::parse_place(loop.item);
      item.has("item") &&
      (!name || !name->steps.empty() || name->root != loop.item || is_of_call(*name)))
    item.complain("item", "\"" + loop.item + "\" is no name that a place may begin with");
  if (item.require("first")) loop.first = read_memory_value(item, "first", &Value::parse_place);
  loop.next = read_memory_value(item, "next", &Value::parse_place);
  loop.back = read_memory_value(item, "back", &Value::parse_place);
  loop.count = read_memory_value(item, "count", &Value::parse);
  loop.at = read_memory_value(item, "at", &Value::parse);
  item.set("stride", whole_number(loop.stride, 1, 1u << 20));
  if (item.has("next") == item.has("stride"))
    item.complain("first", "needs either next, of a list, or stride, of an array");
  if (item.has("stride") && !item.has("count"))
    item.complain("stride", "there is no count of the array's elements");
  if ((item.has("back") && !item.has("next")) || (item.has("at") && !item.has("stride")))
    item.complain("first", "back is of a list only, at of an array");
  return loop;
}

void read_anchors(Reader& item, std::vector<WalkAnchor>& into) {
  const auto texts = item.texts("must");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto complain = [&](const std::string& what) {
      item.complain("must", i, "\"" + texts[i] + "\": " + what);
    };
    const auto equals = texts[i].rfind(" = ");
    if (equals == std::string::npos) {
      complain("is no A = B");
      continue;
    }
    const std::string left = texts[i].substr(0, equals), right = texts[i].substr(equals + 3);
    const bool typed = left.find("->") != std::string::npos;
    auto value = parse_memory(left, typed ? &Value::parse : &Value::parse_place);
    if (!value) {
      complain(value.error().message());
      continue;
    }
    WalkAnchor anchor{texts[i], std::move(*value), {}, 0};
    if (const auto number = parse_whole_number(right, 0, ~0ull >> 1)) {
      anchor.number = static_cast<std::int64_t>(*number);
    } else if (auto place = parse_memory(right, &Value::parse_place)) {
      anchor.right = std::move(*place);
    } else {
      complain(place.error().message());
    }
    into.push_back(std::move(anchor));
  }
}

// A label's value is read where it has a type, else it is the text itself.
void read_walk_labels(Reader& item, std::vector<WalkLabel>& into) {
  item.pairs("labels", [&](const Pair& pair) {
    if (into.size() > kMostLabels) return;
    WalkLabel label{pair.name, {}, pair.value};
    if (pair.value.find("->") != std::string::npos) {
      auto value = parse_memory(pair.value, &Value::parse);
      if (!value)
        return item.problems().add(pair.place, item.path() + ".labels." + pair.name + ": \"" +
                                                   pair.value + "\": " + value.error().message());
      label.value = std::move(*value);
    }
    if (!is_label_name(pair.name) || pair.name == "ioc")
      item.problems().add(pair.place, item.path() + ".labels." + pair.name +
                                          ": no name of a label (letters, digits, _; not ioc)");
    into.push_back(std::move(label));
  });
  if (into.size() > kMostLabels) item.complain("labels", "more than 8");
}

WalkMetric read_metric(Reader& item, const std::string& prefix) {
  WalkMetric metric;
  if (item.require("name")) metric.name = item.text("name").value_or("");
  if (item.require("help")) metric.help = item.text("help").value_or("");
  metric.counter = metric.name.ends_with("_total");
  if (!metric.name.starts_with(prefix) || !is_label_name(metric.name))
    item.complain("name", "must begin with " + prefix + ", and have letters, digits and _");
  metric.value = read_memory_value(item, "value", &Value::parse);
  if (metric.value && metric.value->type == Type::text) item.complain("value", "must be a number");
  item.set("epics_time", on_off(metric.epics_time));
  if (const auto text = item.text("only")) {
    metric.only = range_of(*text);
    if (!metric.only) item.complain("only", "\"" + *text + "\" is no range as 0..4");
  }
  read_walk_labels(item, metric.labels);
  return metric;
}

// Items are of one loop each, and there are none before the loop begins.
void check_items(Reader& item, const std::vector<WalkLoop>& loops, std::size_t index) {
  const WalkLoop& loop = loops[index];
  for (std::size_t i = 0; i < index; ++i)
    if (loops[i].item == loop.item)
      item.complain("each", index, loop.item + " is the item of two loops");
  for (const auto* value : {&loop.first, &loop.count, &loop.at})
    for (std::size_t i = index; *value && i < loops.size(); ++i)
      if ((*value)->root == loops[i].item)
        item.complain("each", index, (*value)->source + ": there is no " + loops[i].item + " yet");
}

Walk read_walk(Reader& item, const std::string& prefix) {
  Walk walk;
  if (item.require("name")) walk.name = item.text("name").value_or("");
  if (item.require("file")) item.set("file", pattern(walk.file));
  if (item.require("each"))
    item.list(
        "each", [&](Reader& inner) { walk.loops.push_back(read_loop(inner)); }, kMostLoops);
  for (std::size_t i = 0; i < walk.loops.size(); ++i) check_items(item, walk.loops, i);
  read_anchors(item, walk.anchors);
  read_walk_labels(item, walk.labels);
  if (item.require("metrics"))
    item.list(
        "metrics", [&](Reader& inner) { walk.metrics.push_back(read_metric(inner, prefix)); },
        kMostMetrics);
  for (const WalkMetric& metric : walk.metrics)
    for (const WalkLabel& label : metric.labels)
      if (std::ranges::find(walk.labels, label.name, &WalkLabel::name) != walk.labels.end())
        item.complain("metrics", metric.name + " has the label " + label.name + " twice");
  return walk;
}

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

std::vector<std::string> Walk::variables() const {
  std::set<std::string> names;
  const auto add = [&](const std::optional<Value>& value) {
    if (value) names.insert(value->root);
  };
  for (const WalkLoop& loop : loops)
    for (const auto* value : {&loop.first, &loop.next, &loop.back, &loop.count, &loop.at})
      add(*value);
  for (const WalkAnchor& anchor : anchors) {
    add(anchor.left);
    add(anchor.right);
  }
  for (const WalkLabel& label : labels) add(label.value);
  for (const WalkMetric& metric : metrics) {
    add(metric.value);
    for (const WalkLabel& label : metric.labels) add(label.value);
  }
  for (const WalkLoop& loop : loops) names.erase(loop.item);
  return {names.begin(), names.end()};
}

void read_walks(Reader& file, std::vector<Walk>& into, const std::string& prefix) {
  file.list(
      "walks", [&](Reader& item) { into.push_back(read_walk(item, prefix)); }, kMostWalks);
}

Result<Walked> walk(const Walk& walk, const Roots& variables, iocs::Memory& memory,
                    const WalkBounds& bounds) {
  return Walker(walk, variables, memory, bounds).run();
}

}  // namespace ioc_exporter::functions
