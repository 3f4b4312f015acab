// Reader: one mapping of a YAML file, asked for its keys one by one.
//
// What is wrong goes to the Problems, with the place and the path of the key
// ("limits.puts.series"), and reading goes on: so all problems of a file are told at once. Keys
// that nobody asked for, and keys that come twice, are problems too.
#pragma once

#include <yaml-cpp/yaml.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/pattern.h"
#include "base/result.h"
#include "base/yaml_file.h"

namespace ioc_exporter {

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
  // Nothing: there is no such key, or it was a problem.
  std::optional<std::string> text(const std::string& key, const char* expected = "a text");
  // The text at `key`, where there is one, is a problem when `use` says so.
  void check(const std::string& key, const std::function<Result<void>(const std::string&)>& use);
  std::optional<bool> flag(const std::string& key);
  std::optional<std::uint64_t> number(const std::string& key, std::uint64_t least,
                                      std::uint64_t most);
  std::optional<std::chrono::milliseconds> duration(const std::string& key);
  std::optional<Pattern> pattern(const std::string& key);
  // A list of texts; one alone may stand without the list.
  std::vector<std::string> texts(const std::string& key);
  // Calls read() with the mapping at `key`, or not at all.
  void section(const std::string& key, const Each& read);
  // Calls read() with each mapping of the list at `key`.
  void list(const std::string& key, const Each& read);
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

}  // namespace ioc_exporter
