#include "base/yaml_reader.h"

#include "base/duration.h"
#include "base/value_text.h"

namespace ioc_exporter {
namespace {

Place place_of(const YAML::Node& node) {
  const YAML::Mark mark = node.Mark();
  return mark.is_null() ? Place{} : Place{mark.line + 1, mark.column + 1};
}

}  // namespace

Reader::Reader(YAML::Node node, std::string path, Problems& problems)
    : node_(std::move(node)), path_(std::move(path)), place_(place_of(node_)), problems_(problems) {
  if (node_.IsNull()) return;
  if (!node_.IsMap()) {
    problems_.add(place_, (path_.empty() ? "the file" : path_) + " must be a mapping (key: value)");
    node_.reset();  // an assignment would change the document's node
    return;
  }
  std::set<std::string> seen;
  for (const auto& entry : node_) {
    if (!entry.first.IsScalar())
      problems_.add(place_of(entry.first), "a key must be a plain text");
    else if (!seen.insert(entry.first.Scalar()).second)
      problems_.add(place_of(entry.first), path_of(entry.first.Scalar()) + " comes twice");
  }
}

std::string Reader::path_of(const std::string& key) const {
  return path_.empty() ? key : path_ + "." + key;
}

YAML::Node Reader::value(const std::string& key) const {
  if (node_.IsMap())
    for (const auto& entry : node_)
      if (entry.first.IsScalar() && entry.first.Scalar() == key) return entry.second;
  return YAML::Node(YAML::NodeType::Undefined);
}

bool Reader::has(const std::string& key) {
  asked_.insert(key);
  return value(key).IsDefined();
}

Place Reader::place(const std::string& key) const {
  const YAML::Node found = value(key);
  return found.IsDefined() ? place_of(found) : place_;
}

void Reader::complain(const std::string& key, const std::string& what) {
  problems_.add(place(key), path_of(key) + ": " + what);
}

void Reader::complain(const std::string& key, std::size_t index, const std::string& what) {
  const YAML::Node found = value(key);
  if (!found.IsSequence() || index >= found.size()) return complain(key, what);
  problems_.add(place_of(found[index]), path_of(key) + "[" + std::to_string(index) + "]: " + what);
}

bool Reader::require(const std::string& key) {
  if (has(key)) return true;
  problems_.add(place_, (path_.empty() ? "" : path_ + ": ") + key + " is missing");
  return false;
}

std::optional<std::string> Reader::text(const std::string& key, const char* expected) {
  if (!has(key)) return std::nullopt;
  const YAML::Node found = value(key);
  if (found.IsScalar()) return found.Scalar();
  complain(key, std::string("must be ") + expected);
  return std::nullopt;
}

void Reader::check(const std::string& key,
                   const std::function<Result<void>(const std::string&)>& use) {
  const auto text = this->text(key);
  if (!text) return;
  if (const auto good = use(*text); !good) complain(key, good.error().message());
}

std::optional<bool> Reader::flag(const std::string& key) {
  const auto text = this->text(key, "true or false");
  if (!text) return std::nullopt;
  if (*text == "true") return true;
  if (*text == "false") return false;
  complain(key, shown(*text) + " is neither true nor false");
  return std::nullopt;
}

std::optional<std::uint64_t> Reader::number(const std::string& key, std::uint64_t least,
                                            std::uint64_t most) {
  const auto text = this->text(key, "a number");
  if (!text) return std::nullopt;
  auto number = parse_whole_number(*text, least, most);
  if (number) return *number;
  complain(key, number.error().message());
  return std::nullopt;
}

std::optional<std::chrono::milliseconds> Reader::duration(const std::string& key) {
  const auto text = this->text(key, "a duration such as 90s");
  if (!text) return std::nullopt;
  auto duration = parse_duration(*text);
  if (duration) return *duration;
  complain(key, duration.error().message());
  return std::nullopt;
}

std::optional<Pattern> Reader::pattern(const std::string& key) {
  const auto text = this->text(key, "a regular expression");
  if (!text) return std::nullopt;
  auto compiled = Pattern::compile(*text);
  if (compiled) return *compiled;
  complain(key, compiled.error().message());
  return std::nullopt;
}

std::vector<std::string> Reader::texts(const std::string& key) {
  if (!has(key)) return {};
  const YAML::Node found = value(key);
  if (found.IsScalar()) return {found.Scalar()};
  std::vector<std::string> all;
  if (!found.IsSequence()) complain(key, "must be a list of texts");
  for (std::size_t i = 0; found.IsSequence() && i < found.size(); ++i) {
    if (found[i].IsScalar())
      all.push_back(found[i].Scalar());
    else
      problems_.add(place_of(found[i]),
                    path_of(key) + "[" + std::to_string(i) + "] must be a text");
  }
  return all;
}

void Reader::section(const std::string& key, const Each& read) {
  if (!has(key)) return;
  Reader inner(value(key), path_of(key), problems_);
  read(inner);
  inner.finish();
}

void Reader::list(const std::string& key, const Each& read) {
  if (!has(key)) return;
  const YAML::Node found = value(key);
  if (found.IsNull()) return;
  if (!found.IsSequence()) {
    complain(key, "must be a list (- key: value)");
    return;
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    Reader inner(found[i], path_of(key) + "[" + std::to_string(i) + "]", problems_);
    read(inner);
    inner.finish();
  }
}

void Reader::pairs(const std::string& key, const std::function<void(const Pair&)>& read) {
  if (!has(key) || value(key).IsNull()) return;
  const Reader inner(value(key), path_of(key), problems_);
  if (!inner.node_.IsMap()) return;
  for (const auto& entry : inner.node_) {
    if (!entry.first.IsScalar()) continue;
    const std::string& name = entry.first.Scalar();
    if (entry.second.IsScalar())
      read({name, entry.second.Scalar(), place_of(entry.second)});
    else if (entry.second.IsNull())
      read({name, "", place_of(entry.first)});
    else
      problems_.add(place_of(entry.second), inner.path_of(name) + " must be a text");
  }
}

void Reader::finish() {
  if (!node_.IsMap()) return;
  for (const auto& entry : node_)
    if (entry.first.IsScalar() && !asked_.contains(entry.first.Scalar()))
      problems_.add(place_of(entry.first), path_of(entry.first.Scalar()) + ": no such key");
}

}  // namespace ioc_exporter
