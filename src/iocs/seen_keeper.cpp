#include "iocs/seen_keeper.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

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
  auto file = SeenFile::open(options_.folder);
  if (!file) {
    problem_ = "names of IOCs do not outlive the exporter: " + file.error().message();
    log::warn("{}", problem_);
    return;
  }
  file_ = std::make_unique<SeenFile>(std::move(*file));
  forgotten_.emplace(options_.folder);
  std::string problem;
  SeenText seen = file_->read(problem);
  text_.generation = seen.generation;
  if (!problem.empty()) log::error("{}; {} IOCs are remembered", problem, seen.iocs.size());
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
  if (!file_ || !worker_.wait(std::chrono::milliseconds(0))) return;
  if (std::exchange(writing_, false)) {
    trouble_.report("keep the names of IOCs", written_);
    problem_ = written_ ? "" : written_.error().message();
    dirty_ |= !written_;
    // The same file again: the other one is whole.
    if (!written_) --text_.generation;
  }
  if (now < next_write_ || (!dirty_ && now < next_refresh_)) return;
  next_write_ = now + kPause;
  next_refresh_ = now + kRefresh;
  dirty_ = false;
  writing_ = true;
  ++text_.generation;
  text_.iocs = seen_.all();
  worker_.start([this] { written_ = file_->write(text_); });
}

}  // namespace ioc_exporter::iocs
