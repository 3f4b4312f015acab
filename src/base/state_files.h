// StateFiles: what outlives the exporter, in a folder, from one run to the next.
//
// Two files are opened at its start, which are written in turn; what is written has its generation
// and its sum in it: whenever the exporter or the host ends, one of them is whole.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/helper.h"
#include "base/log.h"
#include "base/result.h"
#include "base/shared_memory.h"
#include "base/unique_fd.h"
#include "base/worker.h"

namespace ioc_exporter {

class StateFiles {
 public:
  using Names = std::array<const char*, 2>;

  // Makes the last folder of the path and the files where they are missing. One process has them at
  // a time: device_or_resource_busy when another one does, for a second. The folder must be its
  // owner's only to write to.
  static Result<StateFiles> open(const std::string& folder, const Names& names);
  struct Text {
    std::string path, text;
  };
  // Of those that are there and not empty, up to `largest` bytes. `problem`: what is wrong with one
  // of them, "" = nothing.
  static std::vector<Text> read(const std::string& folder, const Names& names, std::size_t largest,
                                std::string& problem);
  // The later of them, as `parse` makes of a text (Result<State>), by its `generation`. State()
  // when nothing was written yet, or neither is whole.
  template <class State, class Parse>
  static State latest(const std::vector<Text>& texts, Parse&& parse, std::string& problem) {
    State latest;
    for (const auto& [path, text] : texts) {
      auto state = parse(text);
      if (!state)
        problem = "read " + path + ": " + state.error().message();
      else if (state->generation > latest.generation)
        latest = std::move(*state);
    }
    return latest;
  }
  template <class State, class Parse>
  static State read_latest(const std::string& folder, const Names& names, std::size_t largest,
                           Parse&& parse, std::string& problem) {
    return latest<State>(read(folder, names, largest, problem), parse, problem);
  }

  // In any one thread.
  Result<void> write(std::uint64_t generation, std::string_view text);

 private:
  std::string folder_;
  Names names_{};
  std::array<UniqueFd, 2> files_;
};

// FNV-1a: against a write that was cut, not against people; and for names in files, since
// std::hash may differ from build to build.
std::uint64_t fnv1a(std::string_view text);

// StateKeeper: StateFiles, and what went wrong with them. A process of their own opens, reads and
// writes them, so that a disk that hangs holds nothing else up: not the exporter's start, nor its
// end.
//
// Not thread-safe.

// Of one kind of state, for the metrics: how often what failed.
struct StateSample {
  std::string state;  // "channels"
  std::uint64_t open = 0, read = 0, write = 0;
};

class StateKeeper {
 public:
  // The text of that generation. Called by the worker.
  using Encode = std::function<std::string(std::uint64_t generation)>;

  using Clock = std::chrono::steady_clock;

  // `state`: its name in metrics; `what` it is, in log lines: "names of open channels"; written
  // once in `pause`.
  StateKeeper(std::string state, std::string what, Clock::duration pause)
      : what_(std::move(what)), pause_(pause), sample_{.state = std::move(state)} {}

  // Opens the files, and reads the later one as StateFiles::read_latest() does. A failure is logged
  // and counted; where they cannot be opened nothing is kept, as without a folder (""). To be
  // called while this process has one thread.
  template <class State, class Parse>
  State open(const std::string& folder, const StateFiles::Names& names, std::size_t largest,
             Parse&& parse, Clock::time_point now) {
    next_ = now + pause_;
    std::string problem;
    const auto texts = open_files(folder, names, largest, problem);
    State latest = StateFiles::latest<State>(texts, parse, problem);
    note_read_problem(problem);
    generation_ = latest.generation;
    return latest;
  }
  bool is_open() const { return process_ != nullptr; }

  // True once in the pause, and not before the last writing has ended: then write().
  bool is_due(Clock::time_point now);
  void write(Encode encode);
  // The same, at the end: when it is done, or a disk hangs.
  void write_now(const Encode& encode);

  // Rights that the processes started by open() drop.
  static void set_confinement(std::function<Result<void>()> confine);

  // "": all is well, or nothing is to be kept.
  const std::string& problem() const { return problem_; }
  const StateSample& sample() const { return sample_; }

 private:
  struct Shared {
    std::size_t size;
    std::array<char, 33u << 20> text;
  };

  std::vector<StateFiles::Text> open_files(const std::string& folder,
                                           const StateFiles::Names& names, std::size_t largest,
                                           std::string& problem);
  Result<void> put(std::string_view text, std::uint64_t generation,
                   std::chrono::milliseconds patience);
  void note_read_problem(const std::string& problem);
  void note_written();

  std::string what_;
  Clock::duration pause_;
  Clock::time_point next_{};
  StateSample sample_;
  std::shared_ptr<Helper> process_;  // null: nothing is kept
  SharedMemory<Shared> shared_;      // with the process: a text on its way
  std::uint64_t generation_ = 0;
  std::string problem_;
  TroubleLog trouble_;
  bool writing_ = false;
  Result<void> written_;  // the worker's, while it writes
  Worker worker_;         // last: it ends first
};

}  // namespace ioc_exporter
