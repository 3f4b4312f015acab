#include "iocs/seen_iocs.h"

#include <algorithm>
#include <utility>

namespace ioc_exporter::iocs {

void SeenIocs::restore(SeenByName seen) {
  seen_ = std::move(seen);
  for (auto& [name, one] : seen_) one.up = false;
  share_out();
}

void SeenIocs::look(const std::vector<Running>& running, double now_seconds,
                    std::chrono::duration<double> elapsed) {
  for (auto& [name, one] : seen_) one.was_up = std::exchange(one.up, false);
  std::vector<std::string> taken_in;
  for (const Running& one : running)
    if (note(one, now_seconds)) taken_in.push_back(one.name);
  if (!taken_in.empty()) share_out();
  changed_ |=
      std::ranges::any_of(taken_in, [this](const auto& name) { return seen_.contains(name); });
  for (auto one = seen_.begin(); one != seen_.end();) {
    SeenIoc& ioc = one->second;
    changed_ |=
        ioc.up != ioc.was_up || (!ioc.up && ioc.gone == 0);  // also: since the exporter ended
    ioc.gone = ioc.up ? 0 : ioc.gone + elapsed.count();
    const bool expired =
        !ioc.goes_first && ioc.gone > kTimes * static_cast<double>(ioc.longest_run);
    changed_ |= expired;
    one = expired ? seen_.erase(one) : std::next(one);
  }
}

bool SeenIocs::note(const Running& running, double now_seconds) {
  if (!running.keeps_name) return false;
  const bool is_long = running.seen_seconds >= static_cast<double>(options_.after.count());
  auto known = seen_.find(running.name);
  const bool is_others = known != seen_.end() && known->second.user != running.user;
  if (!is_long && (known == seen_.end() || is_others)) return false;
  if (is_others) seen_.erase(known);  // the name is this user's now
  const auto [at, is_new] = seen_.try_emplace(running.name);
  SeenIoc& seen = at->second;
  seen.user = running.user;
  seen.up = true;
  seen.was_up |= is_new;
  if (!seen.was_up) seen.exit.reset();  // the end of this run may be seen by nobody
  seen.goes_first = running.goes_first;
  seen.user_name = running.user_name;
  seen.longest_run = std::max(seen.longest_run, static_cast<std::uint64_t>(running.seen_seconds));
  seen.last_seen = static_cast<std::int64_t>(now_seconds);
  return is_new;
}

// Those that run before those that are gone, of which the latest stay.
void SeenIocs::share_out() {
  std::vector<PlaceWanted> wanted;
  for (const auto& [name, one] : seen_)
    wanted.push_back({{0, static_cast<std::uint64_t>(one.gone)}, one.user, one.goes_first, one.up});
  const auto given = share_places(wanted, options_.places, options_.most_others);
  std::size_t at = 0;
  for (auto one = seen_.begin(); one != seen_.end(); ++at)
    one = given[at] ? std::next(one) : seen_.erase(one);
}

void SeenIocs::ended(const std::string& name, std::uint32_t user, const IocExit& exit) {
  const auto known = seen_.find(name);
  if (known == seen_.end() || known->second.user != user || known->second.exit == exit) return;
  if (known->second.up) return;  // it runs again already
  known->second.exit = exit;
  changed_ = true;
}

bool SeenIocs::forget(const std::string& name, double by) {
  const auto known = seen_.find(name);
  if (known == seen_.end() || known->second.up || static_cast<double>(known->second.last_seen) > by)
    return false;
  seen_.erase(known);
  changed_ = true;
  return true;
}

}  // namespace ioc_exporter::iocs
