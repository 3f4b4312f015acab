// The part of RecordProcess that begins and ends with IOCs, and says what is to be attached.
#include "records/probe/process.h"

#include <algorithm>

#include "base/log.h"

namespace ioc_exporter::records {
namespace {

// Of one apply(): scrapes wait meanwhile. The next one goes on.
constexpr std::chrono::seconds kPatience{10};

void report(const Result<void>& result) {
  if (!result) log::warn("{}", result.error().message());
}

bool has_completion(const RecordTarget& target) {
  return std::ranges::find(target.extras, RecordProgram::completion, &ProbePoint::program) !=
         target.extras.end();
}

}  // namespace

Result<RecordProcess> RecordProcess::start(const RecordProcessOptions& options) {
  auto object = RecordProcessObject::load(options);
  if (!object) return std::move(object).error();
  // The maps that give ioc_records and ioc_completions their shape stand in slot 0, where no IOC
  // may find it.
  if (auto cleared = object->clear_records_map(0); !cleared) return cleared.error();
  if (auto cleared = object->clear_completions_map(0); !cleared) return cleared.error();
  if (auto added = add_usual_scan_names(object->maps().scan_names); !added) return added.error();
  return RecordProcess(std::move(*object), options);
}

RecordProcess::RecordProcess(RecordProcessObject object, const RecordProcessOptions& options)
    : RecordTables(std::move(object), options),
      engine_(std::make_unique<probes::Engine>(probes::Attaching::by(object_.attacher()),
                                               kRecordPolicy)) {}

std::vector<Result<std::uint32_t>> RecordProcess::watch(const std::vector<RecordTarget>& targets) {
  report(prepare_maps(targets));
  std::vector<Result<std::uint32_t>> slots;
  for (const RecordTarget& target : targets) slots.push_back(begin(target));
  apply();
  std::vector<std::uint32_t> failed;
  for (auto& slot : slots) {
    if (!slot) continue;
    const auto error = error_of(*slot);
    if (!error) continue;
    failed.push_back(*slot);
    slot = *error;
  }
  unwatch(failed);
  return slots;
}

Result<std::uint32_t> RecordProcess::begin(const RecordTarget& target) {
  auto slot = slot_for(target.records);
  if (!slot) return slot;
  WatchedIoc& watched = watched_[*slot];
  watched.target = target;
  watched.generation = next_generation_++;
  watched.holder = iocx_holder_of(watched.generation);
  is_changed_ = true;
  if (auto done = enter(*slot); !done) {
    leave({*slot});
    return done.error();
  }
  return slot;
}

void RecordProcess::unwatch(const std::vector<std::uint32_t>& slots) {
  std::vector<std::uint32_t> known;
  for (const std::uint32_t slot : slots) {
    const auto found = watched_.find(slot);
    if (found == watched_.end()) continue;
    found->second.is_leaving = true;
    known.push_back(slot);
  }
  if (known.empty()) return;
  is_changed_ = true;
  apply();
  leave(known);
}

Result<void> RecordProcess::update(std::uint32_t slot, const RecordTarget& target) {
  WatchedIoc& watched = watched_.at(slot);
  if (auto ok = ensure_capacity(slot, target.records); !ok) return ok;
  if (target.sdis == watched.target.sdis) return {};
  watched.target.sdis = target.sdis;
  return write_config(slot);
}

void RecordProcess::follow(const std::map<iocs::IocId, iocs::LiveIoc>& iocs, bool hands_off) {
  engine_->follow(iocs, hands_off);
  apply();
}

void RecordProcess::add(std::uint32_t slot, const ProbePoint& point) {
  std::vector<ProbePoint>& extras = watched_.at(slot).target.extras;
  if (std::ranges::find(extras, point.program, &ProbePoint::program) != extras.end()) return;
  extras.push_back(point);
  is_changed_ = true;
}

void RecordProcess::set_off(std::uint32_t slot, const std::string& why) {
  watched_.at(slot).off = why;
  is_changed_ = true;
}

void RecordProcess::set_extras(std::uint32_t slot, bool wanted) {
  WatchedIoc& watched = watched_.at(slot);
  if (std::exchange(watched.has_extras, wanted) == wanted) return;
  is_changed_ = true;
  if (!wanted) return;
  // What they noted before is over, or was.
  ++watched.epoch;
  watched.scans_since = Clock::now();
  report(write_config(slot));
}

std::vector<probes::ProbeRow> RecordProcess::wish() const {
  std::vector<probes::ProbeRow> rows;
  for (const auto& [slot, watched] : watched_) {
    if (watched.is_leaving) continue;
    const RecordTarget& target = watched.target;
    const auto want = [&rows, &target, &watched = watched](const ProbePoint& point) {
      rows.push_back({.ioc = target.ioc,
                      .program = static_cast<std::uint32_t>(point.program),
                      .file = target.code,
                      .path = target.path,
                      .name = {},
                      .offset = point.offset,
                      .ending = point.ending,
                      // Only traces want that one.
                      .is_optional = point.program == RecordProgram::link_put,
                      .apart = !watched.has_extras,
                      .off = watched.off});
    };
    want({RecordProgram::process, target.offset, watched.timing.ends ? target.ending : nullptr});
    for (const ProbePoint& point : target.extras)
      if (point.program == RecordProgram::completion ? sees_ends(watched) : watched.has_extras)
        want(point);
    if (watched.direct.sampled && !has_completion(target)) want(*target.completion);
  }
  return rows;
}

void RecordProcess::apply() {
  if (std::exchange(is_changed_, false)) {
    for (const auto& [slot, watched] : watched_)
      if (watched.direct.attached && !sees_ends(watched)) report(write_config(slot));
    engine_->want(wish());
  }
  const probes::Hooks hooks{
      [this](const probes::Member& member, unsigned attach) {
        return count_by(member.ioc, attach);
      },
      [](const probes::Member&, const Error& error) { log::warn("{}", error.message()); }};
  engine_->tick(hooks, Clock::now(), kPatience);
  for (auto& [slot, watched] : watched_)
    if (std::exchange(watched.is_switching, false)) {
      ++watched.switches;
      report(write_config(slot));
    }
  follow_ends();
}

// Whether ends of processings are seen now.
void RecordProcess::follow_ends() {
  constexpr auto kCompletion = static_cast<std::uint32_t>(RecordProgram::completion);
  for (auto& [slot, watched] : watched_) {
    if (watched.attach == 0 || watched.direct.attached || !sees_ends(watched)) continue;
    watched.direct.attached = engine_->has(watched.target.ioc, kCompletion);
    if (watched.direct.attached) report(write_config(slot));
  }
}

Result<probes::Switched> RecordProcess::count_by(const iocs::IocId& ioc, unsigned attach) {
  const auto found = std::ranges::find_if(
      watched_, [&ioc](const auto& one) { return one.second.target.ioc == ioc; });
  if (found == watched_.end()) return probes::Switched::now;
  WatchedIoc& watched = found->second;
  if (watched.attach == 0) {
    // Calls from before are over, or were: the programs must not take their frames for live ones.
    ++watched.epoch;
    watched.scans_since = Clock::now();
  }
  watched.is_switching = watched.attach != 0 && attach != 0;
  watched.attach = attach;
  if (attach == 0) is_changed_ |= std::exchange(watched.direct.sampled, false);
  if (auto ok = write_config(found->first); !ok) return ok.error();
  return probes::Switched::now;
}

std::optional<Error> RecordProcess::error_of(std::uint32_t slot) const {
  return engine_->error_of({ioc_of(slot)});
}

bool RecordProcess::is_hit_while_off(std::uint32_t slot) const {
  return engine_->is_hit_while_off(ioc_of(slot));
}

std::size_t RecordProcess::unit_of(std::uint32_t slot) const {
  return engine_->unit_of(ioc_of(slot));
}

Result<RecordProcessUse> RecordProcess::use() const {
  RecordProcessUse use;
  use.attachments = engine_->attachments();
  use.threads = object_.maps().caps.held(IOCX_HELD_THREADS) +
                object_.maps().caps.held(IOCX_HELD_OVERFLOW_THREADS);
  use.threads_capacity =
      object_.maps().thread_owners.capacity() + object_.maps().overflow_threads.capacity();
  for (const auto& [slot, watched] : watched_) use.records_capacity += watched.capacity;
  use.memory = memory_.use(object_.maps().rooms);
  return use;
}

}  // namespace ioc_exporter::records
