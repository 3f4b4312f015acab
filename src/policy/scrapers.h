// Scrapers: who scrapes the exporter, and which looks at the puts they all have been served.
//
// A counter that Prometheus first sees at 1 has no increase for it: it must see it at 0 before. So
// what is new is served as 0 until every server that scrapes has had that. Servers are told apart
// by what their requests say; that each of them comes at least once in the longest interval is an
// assumption that the site's policy states.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace ioc_exporter::policy {

class Scrapers {
 public:
  using Clock = std::chrono::steady_clock;

  // `since`: when the exporter began to listen.
  explicit Scrapers(Clock::time_point since) : since_(since) {}

  // An answer with the look of that number was given. `who`: "" is nobody; `surely`: the request
  // is one that only Prometheus and its kin make. As long as there are such, others are not
  // waited for: a person's browser does not come again.
  void served(const std::string& who, bool surely, std::uint64_t look, Clock::time_point now);

  // Every server that scrapes has been served this look or a later one. 0: not even the first. All
  // are known only after the longest interval.
  std::uint64_t all_saw(std::chrono::milliseconds longest_interval, Clock::time_point now);

 private:
  struct Answer {
    Clock::time_point when;
    std::uint64_t look;
  };
  struct Scraper {
    bool surely = false;
    std::deque<Answer> answers;  // the last ones
  };
  static constexpr std::size_t kKept = 512;  // answers of one scraper
  static constexpr std::size_t kMost = 256;  // scrapers

  static bool is_one(const std::deque<Answer>& answers);

  Clock::time_point since_;
  std::map<std::string, Scraper> scrapers_;
};

}  // namespace ioc_exporter::policy
