#include "base/yaml_reader.h"

#include <algorithm>
#include <utility>

#include <yaml-cpp/depthguard.h>

#include "base/rooted_fs.h"

namespace ioc_exporter {
namespace {

constexpr std::size_t kLargest = 4u << 20;

Place place_of(const YAML::Node& node) {
  const YAML::Mark mark = node.Mark();
  return mark.is_null() ? Place{} : Place{mark.line + 1, mark.column + 1};
}

}  // namespace

Result<std::string> read_text(const std::string& path) {
  auto text = RootedFs().read_regular(path, kLargest + 1);
  if (!text && !text.error().code) return std::move(text).error();
  if (!text) return error_in_words("read " + path + ": " + text.error().code.message());
  if (text->size() > kLargest) return error_in_words("read " + path + ": larger than 4 MiB");
  return text;
}

YAML::Node parse_yaml(const std::string& text, Problems& problems) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1) {
      const YAML::Mark mark = documents[1].Mark();
      problems.add({mark.line + 1, mark.column + 1}, "a second document begins: there must be one");
    }
    return documents.empty() ? YAML::Node() : documents[0];
  } catch (const YAML::DeepRecursion& problem) {
    // Its mark is where the reading was, which looks ahead: somewhere behind the place.
    problems.add({}, "no valid YAML: nested in more than " + std::to_string(problem.depth()) +
                         " levels, before line " + std::to_string(problem.mark.line + 2));
  } catch (const YAML::Exception& problem) {
    Place place;
    if (!problem.mark.is_null()) place = {problem.mark.line + 1, problem.mark.column + 1};
    problems.add(place, "no valid YAML: " + problem.msg);
  }
  return YAML::Node();
}

Error Problems::error() const {
  std::vector<Problem> sorted = all_;
  std::ranges::stable_sort(sorted, {}, &Problem::place);
  std::string text;
  for (const Problem& problem : sorted) {
    text.append(text.empty() ? "" : "\n").append(file_);
    if (problem.place.line > 0)
      text.append(":")
          .append(std::to_string(problem.place.line))
          .append(":")
          .append(std::to_string(problem.place.column));
    text.append(": ").append(problem.what);
  }
  return error_in_words(std::move(text));
}

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

void Reader::set(const std::string& key, const OptionValue& value) {
  std::vector<std::string> words;
  if (value.takes == OptionValue::Takes::several)
    words = texts(key);
  else if (auto word = text(key, value.expected))
    words.push_back(std::move(*word));
  for (std::size_t i = 0; i < words.size(); ++i)
    if (auto good = value.set(words[i], i == 0); !good) complain(key, i, good.error().message());
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

void Reader::list(const std::string& key, const Each& read, std::size_t most) {
  if (!has(key)) return;
  const YAML::Node found = value(key);
  if (found.IsNull()) return;
  if (!found.IsSequence()) {
    complain(key, "must be a list (- key: value)");
    return;
  }
  if (found.size() > most) complain(key, most, "there may be " + std::to_string(most) + " at most");
  for (std::size_t i = 0; i < std::min(found.size(), most); ++i) {
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

Result<void> read_yaml(const std::string& text, const std::string& name, const Reader::Each& read) {
  Problems problems(name);
  const YAML::Node document = parse_yaml(text, problems);
  if (!problems.empty()) return problems.error();
  try {
    Reader file(document, "", problems);
    read(file);
    file.finish();
  } catch (const YAML::Exception& problem) {  // an error that no check foresaw
    problems.add({}, std::string("no valid configuration: ") + problem.what());
  }
  return problems.empty() ? Result<void>() : problems.error();
}

}  // namespace ioc_exporter
