// ExitWatch: how the IOCs that run now will have ended, by their names. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "exposition/self_samples.h"
#include "iocs/ioc_id.h"
#include "iocs/samples.h"
#include "kernel/map.h"
#include "kernel/program_stats.h"
#include "shared/ioc_exit.h"

namespace ioc_exporter::iocs {

// Of the status that a parent gets from wait(2).
IocExit exit_of_status(std::int32_t wait_status);

// The program and the map of bpf/iocs/exit.bpf.c in the kernel. Hides libbpf and the skeleton.
class ExitObject {
 public:
  // Loaded and attached: what it takes is given up later. Needs the kernel's BTF
  // (kernel::has_btf()).
  static Result<ExitObject> load();

  ExitObject(ExitObject&&) noexcept;
  ExitObject& operator=(ExitObject&&) noexcept;
  ~ExitObject();

  const kernel::MapView<std::uint32_t, iocx_ioc_exit>& exits() const;  // by process id
  std::optional<kernel::ProgramStats> stats() const;

 private:
  struct Loaded;
  explicit ExitObject(std::unique_ptr<Loaded> loaded);
  std::unique_ptr<Loaded> loaded_;
};

class ExitWatch {
 public:
  using Clock = std::chrono::steady_clock;
  struct Ended {
    std::string name;
    std::uint32_t user = 0;
    IocExit exit;
  };
  struct Watched {
    std::string name;
    std::uint32_t user = 0;
  };
  using Live = std::map<IocId, Watched>;

  // Longest time until an end is reported after /proc does not show the process any more.
  static constexpr std::chrono::seconds kPatience{10};

  // Needs rights that are given up later. A failure is in problem(), and nothing is watched.
  ExitWatch();

  // Takes the IOCs that run now. Returns the ends since the last call.
  std::vector<Ended> follow(const Live& live, Clock::time_point now);

  // CPU time of threads that have ended since follow() took their process; nothing: it is not
  // watched. In any thread.
  std::optional<CpuByClass> exited_cpu(const IocId& id) const;

  // "": it works, or the kernel cannot.
  const std::string& problem() const { return problem_; }
  // Nothing: the kernel cannot.
  std::optional<ProbeSample> sample() const;

  static constexpr const char* kProbe = "ioc_exit";

 private:
  struct Gone {
    Watched ioc;
    Clock::time_point until;
  };

  std::optional<ExitObject> object_;
  std::string problem_;
  bool is_possible_ = false;
  Live live_;
  std::map<IocId, Gone> gone_;  // ended, and not reported yet
};

}  // namespace ioc_exporter::iocs
