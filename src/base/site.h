// One question to all exporters of a site: those of a file, as Prometheus' file_sd_configs has it,
// or those that a Prometheus scrapes. Side by side, each with a deadline.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command_line.h"
#include "base/result.h"

namespace ioc_exporter {

struct SiteTarget {
  std::string name;  // the label `instance`, else the address
  std::string url;   // the path of the metrics less "/metrics"; none where it ends otherwise
  std::string path;  // of the metrics
  std::string problem = {};  // why it cannot be asked
  bool gets_login = true;    // not by http, where a Prometheus names it and it is another host
};

// Each URL once, in the order of the list. At most 10,000.
using SiteTargets = Result<std::vector<SiteTarget>>;
// `text`: YAML or JSON. Errors name `file` and the line.
SiteTargets targets_of_file(const std::string& text, const std::string& file);
// `json`: the answer of GET /api/v1/targets.
SiteTargets targets_of_prometheus(const std::string& json, const std::string& job);

struct SiteOptions {
  std::string file, prometheus;  // one of them
  std::string job;               // in that Prometheus
  std::chrono::milliseconds timeout{};
};
// With those, and the options of with_exporter_options(). Their texts take the place of the line
// "@site@" in the help.
CommandOptions with_site_options(CommandOptions options);
std::string with_site_help(std::string help);
// Nothing: one exporter is asked. Errors are wrong usage.
Result<std::optional<SiteOptions>> site_options(const CommandLine& line);

// `text` without what may steer a terminal, line by line.
std::string terminal_lines(std::string_view text);

// Who was asked, and who did not answer.
struct SiteAnswers {
  struct Unanswered {
    std::string exporter, why;
  };
  std::size_t asked = 0;
  std::vector<Unanswered> unanswered;

  // A line for each that did not answer.
  std::string lines(const std::string& command) const;
  // Exit status: 0; 1: none answered; 3: all did, and there is nothing (`any`); 4: some did not.
  int status(bool any) const;
};
// Nothing in `exporter` steers a terminal. An error: that is no answer.
using TakeAnswer =
    std::function<Result<void>(const std::string& exporter, const std::string& body)>;
// Gives the answers to GET `target` to `take`, in the order of the list: each of at most 16 MiB,
// 512 MiB in all. The error: there is no list.
Result<SiteAnswers> ask_site(const CommandLine& line, const SiteOptions& site,
                             const std::string& target, const TakeAnswer& take);

}  // namespace ioc_exporter
