#include "top/reading.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "base/unique_fd.h"

namespace ioc_exporter::top {
namespace {

struct FamilyRow {
  Family family;
  std::string_view name;
  std::vector<std::string_view> labels;
  // Counts from before the exporter's start are no growth.
  bool begins_at_0 = true;
};

const std::array<FamilyRow, kFamilies>& rows() {
  static const std::array<FamilyRow, kFamilies> kRows = {{
      {Family::record_calls, "epics_record_process_total", {"ioc", "record"}},
      {Family::record_self,
       "epics_record_process_self_seconds_total",
       {"ioc", "record", "record_type"}},
      {Family::ioc_up, "epics_ioc_up", {"ioc"}},
      {Family::ioc_cpu, "epics_ioc_cpu_seconds_total", {"ioc", "thread_class"}, false},
      {Family::ioc_calls, "epics_ioc_processings_total", {"ioc", "cause", "period"}},
      {Family::ioc_memory, "epics_ioc_resident_memory_bytes", {"ioc"}},
      {Family::circuits, "epics_circuits", {"ioc", "protocol"}},
      {Family::puts,
       "epics_puts_total",
       {"ioc", "pv", "client", "user", "client_host", "protocol", "op"}},
  }};
  return kRows;
}

const FamilyRow& row_of(Family family) {
  return rows()[static_cast<std::size_t>(family)];
}

// No label has a NUL in it: such bytes appear as \xNN.
std::string joined(const FamilyRow& row, const MetricLine& series) {
  std::string key;
  for (const std::string_view label : row.labels) key.append(series.label(label)).push_back('\0');
  return key;
}

Labels labels_of(std::string_view key) {
  Labels labels;
  while (!key.empty()) {
    labels.emplace_back(key.substr(0, key.find('\0')));
    key.remove_prefix(labels.back().size() + 1);
  }
  return labels;
}

}  // namespace

std::set<std::string, std::less<>> family_names() {
  std::set<std::string, std::less<>> names;
  for (const FamilyRow& row : rows()) names.emplace(row.name);
  return names;
}

void Reading::take(const MetricLine& series) {
  const auto row = std::ranges::find(rows(), series.name, &FamilyRow::name);
  if (row == rows().end() || !std::isfinite(series.value)) return;
  if (count_ >= most_) {
    ++left_out_;
    return;
  }
  ++count_;
  series_[static_cast<std::size_t>(row->family)][joined(*row, series)] = series.value;
}

std::vector<Value> Reading::values(Family family) const {
  std::vector<Value> all;
  for (const auto& [key, value] : series_[static_cast<std::size_t>(family)])
    all.push_back({labels_of(key), value});
  return all;
}

std::vector<Value> Reading::rates(Family family, const Reading& before) const {
  std::vector<Value> all;
  const double seconds = std::chrono::duration<double>(time_ - before.time_).count();
  if (seconds <= 0) return all;
  const auto& earlier = before.series_[static_cast<std::size_t>(family)];
  for (const auto& [key, value] : series_[static_cast<std::size_t>(family)]) {
    const auto found = earlier.find(key);
    if (found == earlier.end() && !row_of(family).begins_at_0) continue;
    const double from = found == earlier.end() || found->second > value ? 0 : found->second;
    all.push_back({labels_of(key), (value - from) / seconds});
  }
  return all;
}

Result<Reading> fetch_reading(const CommandLine& line) {
  Reading reading(Reading::Clock::now());
  MetricLines lines(family_names(), [&reading](const MetricLine& series) { reading.take(series); });
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
  std::mutex mutex;  // of the members below
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
