#include "top/fetcher.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "base/unique_fd.h"
#include "top/metric_lines.h"

namespace ioc_exporter::top {

Result<Reading> fetch_reading(const CommandLine& line) {
  Reading reading(Reading::Clock::now());
  MetricLines lines(family_names(), [&reading](const Series& series) { reading.take(series); });
  const auto answered =
      follow_exporter(line, line.values.at("metrics-path"),
                      [&lines](std::string_view piece) { return lines.read(piece); });
  if (!answered) return answered.error();
  if (const std::string problem = lines.problem(); !problem.empty())
    return not_an_exporter(line, problem);
  return reading;
}

struct Fetcher::Shared {
  explicit Shared(const CommandLine& as) : line(as), ready(::eventfd(0, EFD_CLOEXEC)) {}

  const CommandLine line;
  const UniqueFd ready;
  std::mutex mutex;  // for what follows
  bool under_way = false;
  std::optional<Result<Reading>> done;
};

Fetcher::Fetcher(const CommandLine& line) : shared_(std::make_shared<Shared>(line)) {}

Fetcher::~Fetcher() = default;

int Fetcher::ready_fd() const {
  return shared_->ready.get();
}

void Fetcher::begin() {
  {
    const std::scoped_lock lock(shared_->mutex);
    if (std::exchange(shared_->under_way, true)) return;
  }
  std::thread([shared = shared_] {
    auto reading = fetch_reading(shared->line);
    const std::scoped_lock lock(shared->mutex);
    shared->done = std::move(reading);
    shared->under_way = false;
    const std::uint64_t one = 1;
    (void)!::write(shared->ready.get(), &one, sizeof one);
  }).detach();
}

bool Fetcher::under_way() const {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->under_way;
}

std::optional<Result<Reading>> Fetcher::take() {
  const std::scoped_lock lock(shared_->mutex);
  if (!shared_->done) return std::nullopt;
  std::uint64_t count = 0;
  (void)!::read(shared_->ready.get(), &count, sizeof count);
  return std::exchange(shared_->done, std::nullopt);
}

}  // namespace ioc_exporter::top
