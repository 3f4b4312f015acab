// Flame: own time of records by the way that led to them, summed up over traces.
//
// Below the IOC stands the cause ("put SR:I", "scan 1 second"), then record below record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "traces/trace.h"

namespace ioc_exporter::traces {

class Flame {
 public:
  struct Frame {
    std::string name;
    Duration self{0};
    Duration whole{0};        // with all that is below it
    std::uint64_t calls = 0;  // spans
    std::size_t depth = 0;
    std::map<std::string, std::size_t, std::less<>> below;  // by name: where it is in frames()
  };
  // Further frames are summed as "(others)" of their parent; deeper frames count as their parent's
  // own.
  static constexpr std::size_t kMostFrames = 20'000, kDeepest = 200;

  explicit Flame(std::size_t most = kMostFrames) : most_(most), frames_(1) {}

  void add(const Trace& trace);
  std::uint64_t traces() const { return traces_; }

  // The first one is all of them. Each stands before those below it.
  std::vector<Frame> frames() const;

  // Folded stacks, as flamegraph.pl and speedscope read them: "ps;put SR:I;SR:I;SR:RB 1234", with
  // nanoseconds, by name. ';' in a name, which would begin a frame, is ','.
  std::string folded() const;

 private:
  std::size_t below(std::size_t frame, const std::string& name);

  const std::size_t most_;
  std::vector<Frame> frames_;
  std::uint64_t traces_ = 0;
};

}  // namespace ioc_exporter::traces
