// The delivery process: it has the sinks of all kinds, and no rights but its folder and the
// network. It may hang and end: then what has no room is dropped and counted, and it is started
// again. The exporter waits for it at its own start and end only, for some seconds.
//
// A process that keeps it started is forked first, gives up its rights, and forks it.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/shared_memory.h"
#include "base/unique_fd.h"

namespace ioc_exporter::delivery {

// The items of one kind that it delivers.
class Cargo {
 public:
  using Time = std::chrono::steady_clock::time_point;

  virtual ~Cargo() = default;
  // The exporter: what waits there goes to the process.
  virtual void hand_over(Time until) = 0;
  // The process.
  virtual std::array<int, 2> events() const = 0;  // one is readable when there is more
  virtual void begin() = 0;
  // The error: a sink could not be opened. None where that is not known by then.
  virtual Result<void> wait_until_open(Time until) = 0;
  // Some from the exporter to the sinks' queues; whether there may be more.
  virtual bool move_on() = 0;
  virtual void end(Time until) = 0;
};

// Its work, until the exporter's end of `socket` is closed. False: a sink could not be opened,
// which `is_first` tells the exporter.
bool serve(const std::vector<Cargo*>& cargo, int socket, bool is_first);

class Process {
 public:
  // How long it goes on with what waits when the exporter ends.
  static constexpr std::chrono::seconds kEndPatience{2};

  struct Work {
    std::vector<Cargo*> cargo;
    // The rights that the keeper, and then the process, give up.
    std::function<Result<void>()> confine_keeper, confine;
  };
  // To be called while this process has one thread. The error: it cannot work.
  static Result<std::unique_ptr<Process>> start(const Work& work);
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  // Tells it to end, and waits for that.
  ~Process();

  // How often it has ended and was started again.
  std::uint64_t restarts() const { return *restarts_; }
  // An error: nobody starts it again.
  Result<void> kept() const;

 private:
  Process() = default;

  std::vector<Cargo*> cargo_;
  UniqueFd socket_;
  SharedMemory<std::atomic<std::uint64_t>> restarts_ =
      make_shared_memory<std::atomic<std::uint64_t>>();
  pid_t keeper_ = 0;
};

// The owner of the folders, which are made where they are missing. The error: they have several.
Result<uid_t> owner_of(const std::vector<std::string>& folders);

}  // namespace ioc_exporter::delivery
