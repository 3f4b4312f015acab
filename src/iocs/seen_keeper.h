// SeenKeeper: SeenIocs with its file: reads it at the start, writes it when it changes, by a thread
// of its own, and has those forgotten that an operator wants forgotten.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/pattern.h"
#include "base/state_keeper.h"
#include "base/trouble_log.h"
#include "iocs/forgotten.h"
#include "iocs/process_user.h"
#include "iocs/seen_iocs.h"

namespace ioc_exporter::iocs {

class SeenKeeper {
 public:
  using Clock = std::chrono::steady_clock;
  // Between two writings: of what has changed, and of how long IOCs run and are gone.
  static constexpr std::chrono::seconds kPause{2};
  static constexpr std::chrono::minutes kRefresh{10};

  struct Options {
    std::string folder;  // "" = nothing is kept
    std::chrono::seconds after{600};
    FirstUsers first_users;
    NameFilter filter;  // what it leaves out is not watched any more, nor missed
  };

  SeenKeeper(const Options& options, const RootedFs& fs);
  // Opens the file, before the rights for it are given up. What fails is logged, and nothing kept.
  void open(Clock::time_point now);

  void look(const std::vector<SeenIocs::Running>& running, double now_seconds,
            Clock::time_point now);
  void ended(const std::string& name, std::uint32_t user, const IocExit& exit) {
    seen_.ended(name, user, exit);
  }
  // Those that were forgotten now.
  std::vector<std::string> forget_some();
  // Writes what is to be written.
  void keep(Clock::time_point now);

  const SeenIocs& seen() const { return seen_; }
  // "": all is well, or nothing is to be kept.
  const std::string& problem() const { return file_.problem(); }
  const StateSample& sample() const { return file_.sample(); }

 private:
  Options options_;
  UserNames user_names_;
  SeenIocs seen_;
  std::optional<ForgottenWatch> forgotten_;
  TroubleLog trouble_;
  bool dirty_ = false;
  Clock::time_point last_look_{}, next_write_{}, next_refresh_{};
  StateKeeper file_{"iocs", "names of IOCs"};
};

}  // namespace ioc_exporter::iocs
