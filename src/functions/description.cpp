#include "functions/description.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/option_table.h"
#include "base/yaml_reader.h"

namespace ioc_exporter::functions {
namespace {

constexpr std::size_t kLongestName = 100, kMostLabels = 8, kMostRanges = 16;

std::optional<Value> read_value(Reader& item, const std::string& key,
                                Result<Value> (*parse)(std::string_view)) {
  const auto text = item.text(key);
  if (!text) return {};
  auto value = parse(*text);
  if (value && !value->from_symbol())
    if (const auto usable = value->compiled(); !usable) value = usable.error();
  if (value) return std::move(*value);
  item.complain(key, "\"" + *text + "\": " + value.error().message());
  return {};
}

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

// As range_of(), or a word of the result's enum.
std::optional<Range> range_in(std::string_view text, const Value& result) {
  for (const auto& [number, word] : result.words)
    if (word == text) return Range{number, number};
  return range_of(text);
}

void read_result(Reader& item, Description& description) {
  description.result = read_value(item, "result", &Value::parse);
  const auto texts = item.texts("success");
  if (!description.result) {
    if (item.has("success") && !item.has("result"))
      item.complain("success", "there is no result that it is about");
    return;
  }
  if (description.result->type != Type::number)
    item.complain("result", "must be a number or an enum");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto range = range_in(texts[i], *description.result);
    if (range)
      description.success.push_back(*range);
    else
      item.complain("success", i, "\"" + texts[i] + "\" is no number, no range and no word");
  }
  if (texts.empty()) description.success.push_back({0, 0});
  if (texts.size() > kMostRanges) item.complain("success", "more than 16 values");
}

void read_labels(Reader& item, Description& description) {
  std::uint32_t words = 0, read = 0;
  std::set<std::string> names{"ioc", "function", "result", "le"};
  item.pairs("labels", [&](const Pair& pair) {
    const auto complain = [&](const std::string& what) {
      item.problems().add(pair.place, item.path() + ".labels." + pair.name + ": " + what);
    };
    if (!is_label_name(pair.name)) return complain("no name of a label (letters, digits, _)");
    if (!names.insert(pair.name).second) return complain("a label with this name is there already");
    auto value = Value::parse(pair.value);
    Result<void> usable = value ? Result<void>() : value.error();
    if (value && value->from_return())
      usable = error_in_words("a label is read when the call begins");
    if (value && usable && !value->from_symbol()) {
      if (const auto compiled = value->compiled(); !compiled) usable = compiled.error();
      ++read;
      words += value->type == Type::text ? (value->size + 7) / 8 : 1;
    }
    if (!usable) return complain("\"" + pair.value + "\": " + usable.error().message());
    if (description.labels.size() <= kMostLabels)
      description.labels.push_back({pair.name, std::move(*value)});
  });
  if (read > IOCX_FUNCTION_LABELS || description.labels.size() > kMostLabels)
    item.complain("labels", "more than 4 that are read, or 8 in all");
  if (words > IOCX_FUNCTION_WORDS)
    item.complain("labels", "take more than 128 bytes together (a text its size, a number 8)");
}

void read_offset(Reader& inner, Symbol& symbol) {
  const std::string text = inner.text("offset").value_or("");
  const bool hexadecimal = text.starts_with("0x");
  const auto [end, error] =
      std::from_chars(text.data() + (hexadecimal ? 2 : 0), text.data() + text.size(), symbol.offset,
                      hexadecimal ? 16 : 10);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size())
    inner.complain("offset", "must be a number");
  symbol.text = "offset " + text;
  if (!inner.require("build_id")) return;
  for (const char c : inner.text("build_id").value_or("")) symbol.build_id += lower(c);
  if (symbol.build_id.size() < 16 || symbol.build_id.size() % 2 != 0 ||
      symbol.build_id.find_first_not_of("0123456789abcdef") != std::string::npos)
    inner.complain("build_id", "must be the hexadecimal digits that `file` shows");
}

void read_symbol(Reader& item, Symbol& symbol) {
  using enum Symbol::Kind;
  if (!item.require("symbol")) return;
  if (item.is_mapping("symbol"))
    return item.section("symbol", [&](Reader& inner) {
      symbol.kind = inner.has("pointer") ? pointer : offset;
      if (symbol.kind == offset) return read_offset(inner, symbol);
      symbol.place = read_value(inner, "pointer", &Value::parse_place);
      symbol.text = "pointer " + (symbol.place ? symbol.place->source : "");
      if (inner.require("of")) symbol.of = inner.text("of").value_or("");
    });
  symbol.text =
      item.text("symbol", "a name, {offset: , build_id: } or {pointer: , of: }").value_or("");
  const bool is_cxx = symbol.text.find("::") != std::string::npos || symbol.text.ends_with(')');
  symbol.kind = is_cxx ? cxx : symbol.text.find_first_of("*?") != std::string::npos ? glob : name;
  if (symbol.text.empty() || symbol.text.find_first_not_of("*?") == std::string::npos)
    item.complain("symbol", "names no function");
}

std::optional<OwnFamily> read_family(Reader& item, const std::string& key,
                                     const std::string& prefix) {
  if (!item.has(key)) return {};
  OwnFamily family{item.text(key).value_or(""), ""};
  if (item.require(key + "_help")) family.help = item.text(key + "_help").value_or("");
  if (!family.name.starts_with(prefix) || !is_label_name(family.name))
    item.complain(key, "must begin with " + prefix + ", and have letters, digits and _");
  return family;
}

void read_families(Reader& item, const std::string& prefix, Description& description) {
  OwnFamilies& metrics = description.metrics.emplace();
  metrics.calls = read_family(item, "calls", prefix);
  metrics.durations = read_family(item, "durations", prefix);
  metrics.failures = read_family(item, "failures", prefix);
  metrics.results = read_family(item, "results", prefix);
  if ((metrics.failures || metrics.results) && !description.result)
    item.complain("failures", "there is no result that it is about");
  if (metrics.durations && !description.timed && description.since.empty())
    item.complain("durations", "there is no time of its calls");
}

// Texts by labels that the description has.
void read_by_label(Reader& item, const std::string& key, const Description& description,
                   std::map<std::string, std::string>& into) {
  item.pairs(key, [&](const Pair& pair) {
    if (std::ranges::find(description.labels, pair.name, &DescribedLabel::name) ==
        description.labels.end())
      item.problems().add(pair.place,
                          item.path() + "." + key + "." + pair.name + ": no such label");
    into[pair.name] = pair.value;
  });
}

Description read_one(Reader& item, const std::string& prefix) {
  Description description;
  description.source = item.source();
  if (item.require("name")) description.name = item.text("name").value_or("");
  if (item.has("name") && (!prints(description.name) || description.name.size() > kLongestName))
    item.complain("name", "must have 1 to 100 characters that print");
  if (item.require("file")) item.set("file", pattern(description.file));
  read_symbol(item, description.symbol);
  item.set("timed", on_off(description.timed));
  read_labels(item, description);
  read_result(item, description);
  description.key = read_value(item, "key", &Value::parse_place);
  if (description.key && description.key->from_return())
    item.complain("key", "is read when the call begins");
  description.since = item.text("since").value_or("");
  if (!description.since.empty() && !item.has("key"))
    item.complain("since", "there is no key by which the calls belong together");
  if (!description.since.empty() && description.timed)
    item.complain("since",
                  "a function that is timed has a duration already: describe it once more");
  read_by_label(item, "among", description, description.among);
  read_by_label(item, "only", description, description.only);
  if (item.has("metrics"))
    item.section("metrics", [&](Reader& inner) { read_families(inner, prefix, description); });
  return description;
}

const Description* find(const Descriptions& all, const std::string& name) {
  const auto found = std::ranges::find(all, name, &Description::name);
  return found == all.end() ? nullptr : &*found;
}

std::string problem_of(const Description& one, const Descriptions& all) {
  if (find(all, one.name) != &one) return "another function has this name";
  if (one.symbol.kind == Symbol::Kind::pointer) {
    const Description* of = find(all, one.symbol.of);
    if (of == nullptr) return "its pointer is of " + one.symbol.of + ", which is not described";
    if (of->symbol.kind == Symbol::Kind::pointer)
      return "its pointer is of " + one.symbol.of + ", which is found by a pointer itself";
    for (const Description& other : all)
      if (other.symbol.of == one.symbol.of &&
          other.symbol.place->source != one.symbol.place->source)
        return "its pointer is of " + one.symbol.of + ", as another one elsewhere is";
  }
  if (one.since.empty()) return "";
  const Description* since = find(all, one.since);
  if (since == nullptr) return "since " + one.since + ": there is no such function";
  return since->key ? "" : "since " + one.since + ": that function has no key";
}

}  // namespace

bool is_label_name(std::string_view name) {
  const auto letter = [](char c) { return (lower(c) >= 'a' && lower(c) <= 'z') || c == '_'; };
  return !name.empty() && letter(name[0]) && !name.starts_with("__") &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::optional<Range> range_of(std::string_view text) {
  const auto dots = text.find("..");
  if (dots == std::string_view::npos) {
    const auto number = whole(text);
    return number ? std::optional(Range{*number, *number}) : std::nullopt;
  }
  Range range;
  const std::string_view first = text.substr(0, dots), last = text.substr(dots + 2);
  const auto least = whole(first), most = whole(last);
  if ((!first.empty() && !least) || (!last.empty() && !most) || (!least && !most)) return {};
  range.least = least.value_or(range.least);
  range.most = most.value_or(range.most);
  return range;
}

bool Description::succeeded(std::int64_t value) const {
  return std::ranges::any_of(success, [value](const Range& range) { return range.holds(value); });
}

void read_functions(Reader& file, Descriptions& into, const std::string& prefix) {
  file.list(
      "functions", [&](Reader& item) { into.push_back(read_one(item, prefix)); },
      kMostDescriptions);
}

Result<Descriptions> parse_functions(const std::string& text, const std::string& name) {
  Descriptions all;
  auto good = read_yaml(text, name, [&all](Reader& file) { read_functions(file, all); });
  if (!good) return good.error();
  return all;
}

std::vector<ListProblem> take_out_unusable(Descriptions& all) {
  std::vector<ListProblem> problems;
  std::vector<std::size_t> indices(all.size());  // that they had
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  // One that is out may be what another needs.
  for (std::size_t before = all.size() + 1; before != all.size();) {
    before = all.size();
    Descriptions usable;
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string problem = problem_of(all[i], all);
      if (!problem.empty()) {
        problems.push_back(
            {"functions", indices[i], "describe function " + all[i].name + ": " + problem});
        continue;
      }
      usable.push_back(all[i]);
      kept.push_back(indices[i]);
    }
    all = std::move(usable);
    indices = std::move(kept);
  }
  if (all.size() > kMostDescriptions) {
    problems.push_back({"functions", indices[kMostDescriptions],
                        "describe functions: " + std::to_string(all.size() - kMostDescriptions) +
                            " are left out, since there are more than 256"});
    all.resize(kMostDescriptions);
  }
  return problems;
}

}  // namespace ioc_exporter::functions
