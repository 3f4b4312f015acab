// A YAML file as its one document, and Reader: one mapping of it, asked for its keys one by one.
//
// Problems are collected with the place and the path of the key
// ("limits.puts.series"), and reading goes on: so all problems of a file are reported at once. Keys
// that nobody asked for, and keys that come twice, are problems too.
#pragma once

#include <yaml-cpp/yaml.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/option_table.h"
#include "base/result.h"

namespace ioc_exporter {

// Counted from 1; 0: not known, or the file as a whole.
struct Place {
  int line = 0;
  int column = 0;
  auto operator<=>(const Place&) const = default;
};

class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}

  void add(Place place, std::string what) { all_.push_back({place, std::move(what)}); }
  bool empty() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }

  // "FILE:LINE:COLUMN: what", a line for each, in the order of the file; only when not empty().
  Error error() const;

 private:
  struct Problem {
    Place place;
    std::string what;
  };
  std::string file_;
  std::vector<Problem> all_;
};

// At most 4 MiB. The error names action, file and cause.
Result<std::string> read_text(const std::string& path);

// Null for an empty text. What is no YAML, or more than one document, goes to `problems`.
YAML::Node parse_yaml(const std::string& text, Problems& problems);

// A key of a mapping whose keys are names, and where its value stands.
struct Pair {
  std::string name, value;
  Place place;
};

class Reader {
 public:
  using Each = std::function<void(Reader&)>;

  // `node` may be null (a section whose lines are all comments): it has no keys then. `path` is ""
  // for the file itself. `problems` must outlive this.
  Reader(YAML::Node node, std::string path, Problems& problems);
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  bool has(const std::string& key);
  bool is_mapping(const std::string& key) const { return value(key).IsMap(); }
  // Nothing: there is no such key, or it was a problem.
  std::optional<std::string> text(const std::string& key, const char* expected = "a text");
  // Sets what `value` is for, where there is such a key. What it refuses is a problem.
  void set(const std::string& key, const OptionValue& value);
  // A list of texts; one alone may stand without the list.
  std::vector<std::string> texts(const std::string& key);
  // Calls read() with the mapping at `key`, or not at all.
  void section(const std::string& key, const Each& read);
  // Calls read() with each mapping of the list at `key`; more than `most` are a problem, and those
  // are not read.
  void list(const std::string& key, const Each& read, std::size_t most = ~std::size_t{0});
  // Calls read() for each key of the mapping at `key`, whatever it is called; values are texts.
  void pairs(const std::string& key, const std::function<void(const Pair&)>& read);

  // A problem of this mapping when it lacks `key`.
  bool require(const std::string& key);
  // A problem with the value of `key`, where it stands; or of the mapping when it has none.
  void complain(const std::string& key, const std::string& what);
  // A problem with an item of the list at `key`, where that stands; with the value when it is none.
  void complain(const std::string& key, std::size_t index, const std::string& what);
  // Of this mapping, or of the value at `key`.
  Place place() const { return place_; }
  Place place(const std::string& key) const;
  const std::string& path() const { return path_; }
  // All of this mapping, as YAML.
  std::string source() const { return YAML::Dump(node_); }
  Problems& problems() { return problems_; }

  // Complains about keys that nobody asked for. Called for all but the first Reader of a file by
  // the one above.
  void finish();

 private:
  std::string path_of(const std::string& key) const;
  YAML::Node value(const std::string& key) const;

  YAML::Node node_;
  std::string path_;
  Place place_;
  Problems& problems_;
  std::set<std::string> asked_;
};

// Calls read() with the mapping that is the file `name`, whose text this is. The error holds all
// problems.
Result<void> read_yaml(const std::string& text, const std::string& name, const Reader::Each& read);

}  // namespace ioc_exporter
