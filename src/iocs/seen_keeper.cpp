#include "iocs/seen_keeper.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "iocs/seen_file.h"

namespace ioc_exporter::iocs {
namespace {

SeenIocs::Options list_options(const SeenKeeper::Options& options) {
  SeenIocs::Options list;
  list.after = options.after;
  if (options.first_users.leaves_some_out()) list.most_others = list.places / kShareOfOthers;
  return list;
}

}  // namespace

SeenKeeper::SeenKeeper(const Options& options, const RootedFs& fs)
    : options_(options), user_names_(fs), seen_(list_options(options)) {}

void SeenKeeper::open(Clock::time_point now) {
  last_look_ = next_write_ = now;
  next_refresh_ = now + kRefresh;
  if (options_.folder.empty()) return;
  file_.open(options_.folder, kSeenFiles);
  if (!file_.is_open()) return;
  forgotten_.emplace(options_.folder);
  std::string problem;
  SeenText seen = read_seen(options_.folder, problem);
  file_.set_generation(seen.generation);
  file_.note_read_problem(problem);
  for (auto& [name, one] : seen.iocs) {
    one.user_name = user_names_.name_of(one.user);
    one.goes_first = options_.first_users.contains(one.user, one.user_name);
  }
  // The filter is for names as IOCs call themselves.
  std::erase_if(seen.iocs, [this](const auto& one) {
    const std::string& name = one.first;
    const std::string ending = "-" + one.second.user_name;
    return !options_.filter.wants(name) &&
           !(name.ends_with(ending) &&
             options_.filter.wants(name.substr(0, name.size() - ending.size())));
  });
  seen_.restore(std::move(seen.iocs));
}

void SeenKeeper::look(const std::vector<SeenIocs::Running>& running, double now_seconds,
                      Clock::time_point now) {
  const auto elapsed = std::max(Clock::duration{}, now - std::exchange(last_look_, now));
  seen_.look(running, now_seconds, elapsed);
}

std::vector<std::string> SeenKeeper::forget_some() {
  std::vector<std::string> done;
  if (!forgotten_ || !forgotten_->has_changed()) return done;
  const auto wanted = read_forgotten(options_.folder);
  if (!wanted) {
    trouble_.report("forget IOCs", wanted.error());
    return done;
  }
  trouble_.report("forget IOCs", Result<void>());
  for (const Forgotten& one : *wanted)
    if (seen_.forget(one.name, static_cast<double>(one.time))) {
      log::info("IOC {} is forgotten", one.name);
      done.push_back(one.name);
    }
  return done;
}

void SeenKeeper::keep(Clock::time_point now) {
  dirty_ |= seen_.take_changed();
  if (!file_.is_open() || !file_.is_idle()) return;
  dirty_ |= file_.take_failed();
  if (now < next_write_ || (!dirty_ && now < next_refresh_)) return;
  next_write_ = now + kPause;
  next_refresh_ = now + kRefresh;
  dirty_ = false;
  file_.write([iocs = seen_.all()](std::uint64_t generation) {
    return to_text({generation, iocs});
  });
}

}  // namespace ioc_exporter::iocs
