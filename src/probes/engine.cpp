#include "probes/engine.h"

#include <algorithm>
#include <thread>

#include "kernel/uprobe.h"

namespace ioc_exporter::probes {
namespace {

// A hit takes a few microseconds, but for a thread that has to wait for a processor meanwhile.
constexpr std::chrono::milliseconds kLongestHit{50};

}  // namespace

Attaching Attaching::by(const elf::Attacher& attacher) {
  return {[&attacher](std::uint32_t program, const elf::ProbePlace& place) {
            return attacher.attach(program, place);
          },
          [&attacher](elf::FunctionProbe& to, std::uint32_t program, const elf::ProbePlace& place) {
            return attacher.attach_ends(to, program, place);
          },
          [] { std::this_thread::sleep_for(kLongestHit); }};
}

Engine::~Engine() {
  for (auto& [key, one] : attached_) off_.push_back(std::move(one.probe));
  kernel::take_off_together(std::move(off_));
}

IocState state_of(const iocs::LiveIoc& live, bool hands_off) {
  return {live.ioc.main_thread_ended, hands_off ? "off: all probes are detached"
                                      : !live.ioc.traced_or_stopped.empty()
                                          ? "off: the IOC is stopped or traced"
                                          : ""};
}

void Engine::follow(const std::map<iocs::IocId, iocs::LiveIoc>& iocs, bool hands_off) {
  std::map<iocs::IocId, IocState> states;
  for (const auto& [id, live] : iocs) states.emplace(id, state_of(live, hands_off));
  follow(std::move(states));
}

void Engine::follow(std::map<iocs::IocId, IocState> states) {
  has_changed_ |= states != states_;
  states_ = std::move(states);
}

void Engine::want(std::vector<ProbeRow> rows) {
  const auto row_of = [](const PlacedRow& placed) -> const ProbeRow& { return *placed.row; };
  if (std::ranges::equal(rows, rows_, {}, {}, row_of)) return;
  has_changed_ = true;
  rows_.clear();
  for (ProbeRow& row : rows) {
    const Place place = place_of(row.file, row.offset);
    rows_.push_back({std::make_shared<const ProbeRow>(std::move(row)), place});
  }
}

void Engine::tick(const Hooks& hooks, Clock::time_point now, std::chrono::milliseconds patience) {
  if (!is_due(now)) return;
  const auto deadline = Clock::now() + patience;
  std::set<Key> there;
  for (const auto& [key, one] : attached_) there.insert(key);
  std::map<Key, std::string> failed;
  for (const auto& [key, one] : failed_)
    if (!one.retry.is_due(now)) failed.emplace(key, one.error.message());
  plan_ = make_plan(rows_, policy_, states_, counted_by_, there, failed);
  stop(hooks);
  take_off(now);
  has_changed_ = !attach(hooks, now, deadline) || std::exchange(plan_again_, false);
  count(hooks, now);
  take_off(now);
}

void Engine::take_off_all(const Hooks& hooks) {
  plan_ = {};
  stop(hooks);
  take_off({});
  has_changed_ = true;
}

void Engine::take_off(const Hooks& hooks, const std::set<iocs::IocId>& iocs) {
  if (iocs.empty()) return;
  for (auto& [member, counted] : plan_.members)
    if (iocs.contains(member.ioc)) counted.by = 0;
  stop(hooks);
  take_off(Clock::now());
  has_changed_ = true;
}

// What is not to be counted any more. On an error it is not either: its attachments go.
void Engine::stop(const Hooks& hooks) {
  for (auto one = counted_by_.begin(); one != counted_by_.end();) {
    const Member member = one->first;
    const auto planned = plan_.members.find(member);
    if (planned != plan_.members.end() && planned->second.by != 0) {
      ++one;
      continue;
    }
    ++one;
    stop(member, hooks);
  }
  // One for all keeps its pause while each has its own.
  std::set<Place> places;
  for (const auto& [key, wanted] : plan_.keys) places.insert(key.place);
  std::erase_if(failed_, [&](const auto& one) {
    return one.first.process == kAll ? !places.contains(one.first.place)
                                     : !plan_.keys.contains(one.first);
  });
  std::erase_if(refused_, [this](const auto& one) { return !plan_.members.contains(one.first); });
}

void Engine::stop(const Member& member, const Hooks& hooks) {
  counted_by_.erase(member);
  if (const auto stopped = hooks.count_by(member, 0); !stopped)
    hooks.failed(member, stopped.error());
}

bool Engine::attach(const Hooks& hooks, Clock::time_point now, Clock::time_point deadline) {
  std::erase_if(paused_until_, [now](const auto& one) { return one.second <= now; });
  for (const auto& [member, counted] : plan_.members)
    if (counted.by != 0 && !is_blocked(member, counted, now) &&
        !attach_member(member, counted, hooks, now, deadline))
      return false;
  return true;
}

bool Engine::attach_member(const Member& member, const Plan::Counted& counted, const Hooks& hooks,
                           Clock::time_point now, Clock::time_point deadline) {
  for (const Key& key : counted.keys) {
    const Plan::Wanted& wanted = plan_.keys.at(key);
    if (is_as_wanted(key, wanted)) {
      failed_.erase(key);  // its ends failed, and are not wanted any more
      continue;
    }
    const auto failed = failed_.find(key);
    const auto paused = paused_until_.find(key.place.file);
    if ((failed != failed_.end() && !failed->second.retry.is_due(now)) ||
        (paused != paused_until_.end() && now < paused->second))
      continue;
    const auto begin = Clock::now();
    if (begin >= deadline) return false;
    const auto done = attach_one(key, wanted);
    const auto took = Clock::now() - begin;
    // An IOC that counts as a whole is not to stay attached by half.
    if (took > kSlow && !policy_.whole_iocs)
      paused_until_[key.place.file] = now + kPauseFactor * took;
    if (done) {
      has_attached_ = true;
      failed_.erase(key);
      continue;
    }
    note_failure(member, failed_[key], done.error(), hooks, now);
    plan_again_ |= key.process == kAll;
    if (is_blocked(member, counted, now)) break;
  }
  return true;
}

Result<void> Engine::attach_one(const Key& key, const Plan::Wanted& wanted) {
  const ProbeRow& row = *wanted.row;
  elf::ProbePlace place{row.file, row.path, row.offset, key.process.pid, wanted.ending};
  place.function = row.name;
  place.ends_number = row.ends_program;
  const auto there = attached_.find(key);
  if (there == attached_.end()) {
    auto probe = attaching_.attach(key.program, place);
    if (!probe) return std::move(probe).error();
    attached_.emplace(key, Attached{std::move(*probe), wanted.ending, row.ends_program});
    return {};
  }
  drop_ends(there->second);  // others were wanted
  auto done = attaching_.attach_ends(there->second.probe, key.program, place);
  if (!done) return done;
  there->second.ending = wanted.ending;
  there->second.ends_program = row.ends_program;
  return done;
}

bool Engine::is_as_wanted(const Key& key, const Plan::Wanted& wanted) const {
  const auto there = attached_.find(key);
  if (there == attached_.end()) return false;
  const auto& [probe, ending, ends_program] = there->second;
  return !wanted.ending || (ending && ending->ends() == wanted.ending->ends() &&
                            ends_program == wanted.row->ends_program);
}

// An IOC that ends meanwhile is no trouble.
void Engine::note_failure(const Member& member, Failed& failed, const Error& error,
                          const Hooks& hooks, Clock::time_point now) {
  failed.error = error;
  if (failed.retry.failed(now, error.message()) && error.code != std::errc::no_such_process)
    hooks.failed(member, error);
}

// It failed, and waits. After a time-out there is less to do the next time: what is there stays.
bool Engine::is_blocked(const Member& member, const Plan::Counted& counted,
                        Clock::time_point now) const {
  if (counted_by_.contains(member)) return false;
  const auto waits = [now](const Failed& failed) {
    return !failed.retry.is_due(now) && failed.error.code != std::errc::timed_out;
  };
  if (const auto refused = refused_.find(member); refused != refused_.end())
    if (waits(refused->second)) return true;
  return std::ranges::any_of(counted.keys, [&](const Key& key) {
    const auto failed = failed_.find(key);
    return failed != failed_.end() && waits(failed->second) && !plan_.keys.at(key).is_optional;
  });
}

bool Engine::is_complete(const Plan::Counted& counted) const {
  return std::ranges::all_of(counted.keys, [this](const Key& key) {
    const Plan::Wanted& wanted = plan_.keys.at(key);
    return is_as_wanted(key, wanted) || wanted.is_optional;
  });
}

// As the attempt to attach to it said.
bool Engine::has_ended(const Plan::Counted& counted) const {
  return std::ranges::any_of(counted.keys, [this](const Key& key) {
    const auto failed = failed_.find(key);
    return failed != failed_.end() && failed->second.error.code == std::errc::no_such_process;
  });
}

// A unit switches as one, when all of it can. The programs rely on that what replaces is newer than
// what it replaces: an attachment for all that stayed for one IOC, and was to count again, would be
// older than what the others got meanwhile. One that has ended keeps nobody waiting.
std::set<std::size_t> Engine::units_that_wait(const Hooks& hooks) {
  std::set<std::size_t> wait;
  bool any = false;
  for (const auto& [member, counted] : plan_.members) {
    const unsigned by = counted_by(member);
    if (counted.by == 0 || by == 0 || by == counted.by) continue;
    any = true;
    if (has_ended(counted))
      stop(member, hooks);
    else if (!is_complete(counted))
      wait.insert(counted.unit);
  }
  if (any && std::exchange(has_attached_, false)) attaching_.let_hits_end();
  return wait;
}

void Engine::count(const Hooks& hooks, Clock::time_point now) {
  const std::set<std::size_t> wait = units_that_wait(hooks);
  for (const auto& [member, counted] : plan_.members) {
    if (counted.by == 0 || wait.contains(counted.unit) || !is_complete(counted) ||
        counted_by(member) == counted.by)
      continue;
    const auto refused = refused_.find(member);
    if (is_blocked(member, counted, now) ||
        (refused != refused_.end() && !refused->second.retry.is_due(now)))
      continue;
    const auto done = hooks.count_by(member, counted.by);
    if (!done) {
      note_failure(member, refused_[member], done.error(), hooks, now);
      if (counted_by(member) != 0) stop(member, hooks);
      continue;
    }
    refused_.erase(member);
    if (*done == Switched::now)
      counted_by_[member] = counted.by;
    else
      has_changed_ = true;
  }
}

// What an IOC is counted by, until it is counted by what it is to be.
std::set<Key> Engine::needed(Clock::time_point now) const {
  std::set<Key> all;
  for (const auto& [member, counted] : plan_.members) {
    if (counted.by == 0 || is_blocked(member, counted, now)) continue;
    all.insert(counted.keys.begin(), counted.keys.end());
    const unsigned by = counted_by(member);
    if (by == 0 || by == counted.by) continue;
    for (const Key& key : counted.keys) all.insert(key_by(by, key, member.ioc));
  }
  return all;
}

void Engine::take_off(Clock::time_point now) {
  const std::set<Key> stay = needed(now);
  for (auto one = attached_.begin(); one != attached_.end();) {
    auto& [key, attached] = *one;
    const auto wanted = plan_.keys.find(key);
    if (wanted != plan_.keys.end() && !wanted->second.ending) drop_ends(attached);
    if (stay.contains(key)) {
      ++one;
      continue;
    }
    off_.push_back(std::move(attached.probe));
    one = attached_.erase(one);
  }
  kernel::take_off_together(std::exchange(off_, {}));
}

void Engine::drop_ends(Attached& from) {
  if (!from.ending) return;
  from.ending.reset();
  off_.emplace_back().at_ends = std::exchange(from.probe.at_ends, {});
}

bool Engine::is_due(Clock::time_point now) const {
  const auto due = [now](const auto& one) { return one.second.retry.is_due(now); };
  return has_changed_ || std::ranges::any_of(failed_, due) || std::ranges::any_of(refused_, due) ||
         std::ranges::any_of(paused_until_, [now](const auto& one) { return one.second <= now; });
}

unsigned Engine::counted_by(const Member& member) const {
  const auto found = counted_by_.find(member);
  return found == counted_by_.end() ? 0 : found->second;
}

std::string Engine::why_not(const Member& member) const {
  const auto found = plan_.members.find(member);
  if (found == plan_.members.end() || counted_by(member) != 0) return "";
  if (!found->second.off.empty()) return found->second.off;
  if (const auto error = error_of(member)) return error->message();
  for (const Key& key : found->second.keys)
    if (paused_until_.contains(key.place.file) && !attached_.contains(key))
      return plan_.keys.at(key).row->path + ": attaching takes too long";
  return "";
}

std::optional<Error> Engine::error_of(const Member& member) const {
  const auto found = plan_.members.find(member);
  if (found == plan_.members.end()) return std::nullopt;
  if (const auto refused = refused_.find(member); refused != refused_.end())
    return refused->second.error;
  for (const Key& key : found->second.keys)
    if (const auto failed = failed_.find(key);
        failed != failed_.end() && !plan_.keys.at(key).is_optional)
      return failed->second.error;
  return std::nullopt;
}

bool Engine::has(const iocs::IocId& ioc, std::uint32_t program) const {
  bool any = false;
  for (auto one = plan_.members.lower_bound({ioc}); one != plan_.members.end(); ++one) {
    const auto& [member, counted] = *one;
    if (member.ioc != ioc) break;
    if (counted.by == 0 || counted_by(member) != counted.by) return false;
    for (const Key& key : counted.keys) {
      if (key.program != program) continue;
      const auto wanted = plan_.keys.find(key);
      if (wanted == plan_.keys.end() || !is_as_wanted(key, wanted->second)) return false;
      any = true;
    }
  }
  return any;
}

bool Engine::is_hit_while_off(const iocs::IocId& ioc) const {
  const auto found = plan_.members.find({ioc});
  if (found == plan_.members.end() || counted_by({ioc}) != 0) return false;
  return std::ranges::any_of(found->second.keys, [&](const Key& key) {
    return attached_.contains(key_by(IOCX_ATTACH_ALL, key, ioc));
  });
}

std::size_t Engine::beside(const Member& member) const {
  const auto found = plan_.members.find(member);
  if (found == plan_.members.end() || counted_by(member) == 0) return 0;
  Key key = *found->second.keys.begin();
  key.process = kAll;  // comes before all others
  std::size_t count = 0;
  for (auto one = attached_.lower_bound(key); one != attached_.end(); ++one, ++count)
    if (one->first.program != key.program || one->first.place != key.place) break;
  return count > 0 ? count - 1 : 0;
}

std::size_t Engine::unit_of(const iocs::IocId& ioc) const {
  const auto found = plan_.members.find({ioc});
  if (found == plan_.members.end() || found->second.by != IOCX_ATTACH_ALL) return 0;
  return found->second.unit + 1;
}

std::uint64_t Engine::attachments() const {
  return attached_.size();
}

}  // namespace ioc_exporter::probes
