// StateKeeper: StateFiles that are written by a thread of their own, and what went wrong with them.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/state_files.h"
#include "base/trouble_log.h"
#include "base/worker.h"

namespace ioc_exporter {

// Of one kind of state, for the metrics: how often what failed.
struct StateSample {
  std::string state;  // "habits"
  std::uint64_t open = 0, read = 0, write = 0;
};

class StateKeeper {
 public:
  // The text of that generation. Called by the worker.
  using Encode = std::function<std::string(std::uint64_t generation)>;

  // `state`: its name in metrics; `what` it is, in log lines: "habits of records".
  StateKeeper(std::string state, std::string what)
      : what_(std::move(what)), sample_{.state = std::move(state)} {}

  // A failure is logged and counted; nothing is kept then. "" = it is open, or no folder is named.
  void open(const std::string& folder, const StateFiles::Names& names);
  bool is_open() const { return files_.has_value(); }
  // A problem with what was read: "" = none.
  void note_read_problem(const std::string& problem);
  // From the next writing on, which is of the next one.
  void set_generation(std::uint64_t generation) { generation_ = generation; }

  // Whether nothing is being written. Tells of what failed.
  bool is_idle();
  // While it is idle.
  void write(Encode encode);
  // The same, at the end: when it is done.
  void write_now(const Encode& encode);

  // "": all is well, or nothing is to be kept.
  const std::string& problem() const { return problem_; }
  const StateSample& sample() const { return sample_; }

 private:
  void note_written();

  std::string what_;
  StateSample sample_;
  std::optional<StateFiles> files_;
  std::uint64_t generation_ = 0;
  std::string problem_;
  TroubleLog trouble_;
  bool writing_ = false;
  Result<void> written_;  // the worker's, while it writes
  Worker worker_;         // last: it ends first
};

}  // namespace ioc_exporter
