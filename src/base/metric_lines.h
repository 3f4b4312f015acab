// MetricLines: reads series from Prometheus' text format 0.0.4, in pieces, however they are cut.
//
// Only series of the names that are wanted are parsed: all else of a page, most of it buckets,
// costs finding its line ends.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ioc_exporter {

struct MetricLine {
  std::string name;
  std::vector<std::pair<std::string, std::string>> labels;  // without escapes; valid until the next
  double value = 0;

  // "" where it has no such label.
  const std::string& label(std::string_view name) const;
};

class MetricLines {
 public:
  using Take = std::function<void(const MetricLine&)>;
  MetricLines(std::set<std::string, std::less<>> wanted, Take take)
      : wanted_(std::move(wanted)), take_(std::move(take)) {}

  // False: that is no such text. It takes no more then.
  bool read(std::string_view piece);
  // After the last piece: "" = it was whole, as far as that can be seen.
  std::string problem() const;

 private:
  static constexpr std::size_t kLongestLine = 1u << 20;

  bool read_line(std::string_view line);

  const std::set<std::string, std::less<>> wanted_;
  const Take take_;
  std::string partial_;     // of a line
  std::size_t number_ = 0;  // of lines
  std::string problem_;
  bool any_ = false;
};

}  // namespace ioc_exporter
