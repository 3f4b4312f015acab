#include "records/memory/record_states.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/time_text.h"

namespace ioc_exporter::records {
namespace {

constexpr std::size_t kAtOnce = 512;  // records, some 100 µs

template <class T>
T field(const std::byte* record, std::size_t offset) {
  T value;
  std::memcpy(&value, record + offset, sizeof value);
  return value;
}

template <class T>
Result<double> seconds_at(iocs::Memory& memory, std::uint64_t address) {
  const auto value = memory.value<T>(address);
  if (!value) return value.error();
  return *value > 0 ? static_cast<double>(*value) : 0.0;  // NaN is none
}

}  // namespace

RecordStates::RecordStates(std::shared_ptr<const Database> database,
                           const iocs::FieldOffsets& offsets, std::chrono::milliseconds stuck_after)
    : database_(std::move(database)),
      offsets_(offsets),
      first_(std::min(offsets.sevr, offsets.pact)),
      size_(std::max<std::size_t>(offsets.sevr + sizeof(std::uint16_t), offsets.pact + 1u) -
            first_),
      stuck_after_(stuck_after) {}

Result<void> RecordStates::read(iocs::Memory& memory, Clock::time_point deadline) {
  if (!pass_) pass_ = Pass();  // clang 14 does not take emplace() for a nested class
  const std::size_t records = database_->records.size();
  while (pass_->next < records) {
    auto some = read_some(memory);
    if (!some) {
      pass_.reset();
      return std::move(some).error();
    }
    pass_->next += *some;
    if (pass_->next < records && Clock::now() >= deadline) return {};
  }
  done_ = std::move(*pass_);
  pass_.reset();
  ever_done_ = true;
  return {};
}

Result<std::size_t> RecordStates::read_some(iocs::Memory& memory) {
  const std::span records = std::span(database_->records).subspan(pass_->next);
  std::vector<std::uint64_t> addresses;
  for (const RecordIdentity& record : records.first(std::min(records.size(), kAtOnce)))
    addresses.push_back(record.address + first_);
  std::vector<std::byte> bytes(addresses.size() * size_);
  const auto now = Clock::now();
  const auto got = memory.gather(addresses, size_, bytes);
  if (!got) return got.error();
  std::vector<std::uint32_t> active;
  for (std::size_t i = 0; i < *got; ++i) {
    const std::byte* const record = bytes.data() + i * size_;
    const auto severity = field<std::uint16_t>(record, offsets_.sevr - first_);
    if (severity >= pass_->by_severity.size())
      return error_in_words("record " + records[i].name + ": its severity is " +
                            std::to_string(severity));
    ++pass_->by_severity[severity];
    if (field<std::uint8_t>(record, offsets_.pact - first_) != 0)
      active.push_back(static_cast<std::uint32_t>(pass_->next + i));
  }
  if (auto noted = note_activities(memory, active, now); !noted) return noted.error();
  return *got;
}

Result<void> RecordStates::note_activities(iocs::Memory& memory,
                                           std::span<const std::uint32_t> active,
                                           Clock::time_point now) {
  std::vector<std::uint64_t> addresses;
  for (const std::uint32_t index : active)
    addresses.push_back(database_->records[index].address + offsets_.time);
  for (std::size_t i = 0; i < active.size();) {
    std::vector<std::byte> bytes((active.size() - i) * sizeof(std::uint64_t));
    const auto got = memory.gather(std::span(addresses).subspan(i), sizeof(std::uint64_t), bytes);
    if (!got) return got.error();
    for (std::size_t k = 0; k < *got; ++k, ++i) {
      const auto time = field<std::uint64_t>(bytes.data(), k * sizeof(std::uint64_t));
      const auto before = done_.active.find(active[i]);
      const bool same = before != done_.active.end() && before->second.time == time;
      Activity& activity = pass_->active[active[i]];
      activity = same ? before->second : Activity{time, {}, now};
      if (now - activity.since < stuck_after_) continue;
      auto delay = read_delay(memory, database_->records[active[i]]);
      if (!delay) return std::move(delay).error();
      activity.delay = *delay;
    }
  }
  return {};
}

// The sum of all: a seq waits for one after the other.
Result<double> RecordStates::read_delay(iocs::Memory& memory, const RecordIdentity& record) const {
  double sum = 0;
  if (record.type >= database_->delay_fields.size()) return sum;
  for (const DelayField& field : database_->delay_fields[record.type]) {
    const std::uint64_t address = record.address + field.offset;
    const auto seconds = field.size == sizeof(float) ? seconds_at<float>(memory, address)
                                                     : seconds_at<double>(memory, address);
    if (!seconds) return seconds.error();
    sum += *seconds;
  }
  return sum;
}

bool RecordStates::waits(const RecordIdentity& record, const Activity& activity,
                         double seconds) const {
  const std::string_view type = database_->types.size() > record.type
                                    ? std::string_view(database_->types[record.type])
                                    : std::string_view();
  return type == "sscan" || type == "busy" ||
         seconds < std::chrono::duration<double>(stuck_after_).count() + activity.delay;
}

void RecordStates::take_counts(std::span<const RecordSample> counts, Clock::time_point now) {
  if (done_.active.empty()) return;
  std::unordered_map<std::uint32_t, std::uint64_t> processed;
  for (const RecordSample& record : counts)
    if (done_.active.contains(record.record)) processed[record.record] = record.processed;
  for (auto& [index, activity] : done_.active) {
    const std::uint64_t count = processed[index];
    // More than before: it has completed, and was started anew at some time before this one.
    if (activity.count && *activity.count != count) activity.since = now;
    activity.count = count;
  }
}

std::optional<RecordStatesSample> RecordStates::sample() const {
  if (!ever_done_) return {};
  RecordStatesSample sample;
  sample.time_seconds = std::chrono::duration<double>(done_.time_of_day.time_since_epoch()).count();
  sample.by_severity = done_.by_severity;
  sample.in_flight = done_.active.size();
  for (const auto& [index, activity] : done_.active) {
    const auto span = std::max(done_.began - activity.since, Clock::duration::zero());
    if (span < stuck_after_) continue;
    const ActiveRecord active{index, std::chrono::duration<double>(span).count()};
    if (waits(database_->records[index], activity, active.seconds)) {
      sample.longest_waiting.push_back(active);
      continue;
    }
    if (activity.time == 0 && activity.count.value_or(0) == 0) {
      sample.some_never_processed.push_back(index);
      continue;
    }
    sample.longest_stuck.push_back(active);
  }
  sample.stuck = sample.longest_stuck.size();
  sample.never_processed = sample.some_never_processed.size();
  std::ranges::sort(sample.some_never_processed);
  if (sample.never_processed > kMostNamed) sample.some_never_processed.resize(kMostNamed);
  for (auto* const longest : {&sample.longest_stuck, &sample.longest_waiting}) {
    std::ranges::sort(*longest, [](const ActiveRecord& a, const ActiveRecord& b) {
      return std::pair(-a.seconds, a.record) < std::pair(-b.seconds, b.record);
    });
    if (longest->size() > kMostNamed) longest->resize(kMostNamed);
  }
  return sample;
}

namespace {

// The longest of all IOCs.
void add_rows(const std::vector<IocSample>& iocs,
              std::vector<ActiveRecord> RecordStatesSample::*records,
              exposition::StatusTable& table) {
  table.columns = {
      {"IOC", false}, {"record", false}, {"type", false}, {"active for at least", true}};
  std::vector<std::pair<const IocSample*, const ActiveRecord*>> longest;
  for (const IocSample& ioc : iocs) {
    if (!ioc.up || !ioc.database || !ioc.memory || !ioc.memory->records) continue;
    for (const ActiveRecord& record : (*ioc.memory->records).*records)
      if (record.record < ioc.database->records.size()) longest.emplace_back(&ioc, &record);
  }
  std::ranges::stable_sort(longest, std::greater<>(),
                           [](const auto& entry) { return entry.second->seconds; });
  for (const auto& [ioc, active] : longest) {
    if (table.rows.size() == kStuckShown) break;
    const RecordIdentity& record = ioc->database->records[active->record];
    table.rows.push_back({ioc->name, record.name,
                          record.type < ioc->database->types.size()
                              ? ioc->database->types[record.type]
                              : std::string(),
                          span_text(active->seconds)});
  }
}

}  // namespace

exposition::StatusTable stuck_table(const std::vector<IocSample>& iocs) {
  exposition::StatusTable table;
  table.title = "Stuck records";
  table.note = "Records that are active (PACT) for longer than --records.stuck-after.";
  add_rows(iocs, &RecordStatesSample::longest_stuck, table);
  std::uint64_t stuck = 0;
  for (const IocSample& ioc : iocs)
    if (ioc.up && ioc.database && ioc.memory && ioc.memory->records)
      stuck += ioc.memory->records->stuck;
  if (stuck > table.rows.size())
    table.more = "And " + std::to_string(stuck - table.rows.size()) +
                 " more: epics_ioc_records_stuck on the page of the metrics counts them.";
  return table;
}

exposition::StatusTable waiting_table(const std::vector<IocSample>& iocs) {
  exposition::StatusTable table;
  table.title = "Waiting records";
  table.note =
      "Records that are active for as long, but by right: sscan, busy, and those whose own delay "
      "(ODLY, DLY1 and so on) is not over.";
  add_rows(iocs, &RecordStatesSample::longest_waiting, table);
  return table;
}

}  // namespace ioc_exporter::records
