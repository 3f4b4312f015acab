// A YAML file as its one document.
#pragma once

#include <yaml-cpp/yaml.h>
#include <string>
#include <vector>

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

}  // namespace ioc_exporter
