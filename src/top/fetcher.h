// Fetcher: scrapes a running exporter in a thread of its own; the keyboard is read meanwhile.
#pragma once

#include <memory>
#include <optional>

#include "base/command_line.h"
#include "base/result.h"
#include "top/reading.h"

namespace ioc_exporter::top {

// One scrape.
Result<Reading> fetch_reading(const CommandLine& line);

class Fetcher {
 public:
  explicit Fetcher(const CommandLine& line);
  // Waits for no answer: a scrape that is under way ends in a thread that has all it needs.
  ~Fetcher();
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  // Can be read when there is a reading, or an error.
  int ready_fd() const;
  // Nothing while one is under way.
  void begin();
  bool under_way() const;
  // Nothing: it is not ready.
  std::optional<Result<Reading>> take();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace ioc_exporter::top
