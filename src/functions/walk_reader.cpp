// Walks as they are read from a file.
#include <algorithm>
#include <set>

#include "base/value_text.h"
#include "base/yaml_reader.h"
#include "functions/walk.h"

namespace ioc_exporter::functions {
namespace {

constexpr std::size_t kMostWalks = 256, kMostLoops = 4, kMostMetrics = 32, kMostLabels = 8;

bool is_of_call(const Value& value) {
  return value.from_argument() || value.from_return() || value.from_symbol();
}

// A walk reads memory: there is no call.
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

}  // namespace ioc_exporter::functions
