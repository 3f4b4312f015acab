// RecordLines: counts of records that are called often, as the programs keep them in lines of their
// own (bpf/records/lines.bpf.h), in addition to those in the map of an IOC's records.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>

#include "kernel/map.h"
#include "shared/record_process.h"

namespace ioc_exporter::records {

class RecordLines {
 public:
  // Of one record.
  struct Counts {
    std::uint64_t untimed = 0;
    iocx_line_times times{};

    void add_to(iocx_record_stats& stats) const;
  };
  // By the record's address. A record may have several lines.
  using Table = std::unordered_multimap<std::uint64_t, Counts>;

  // How many lines are worth their memory where the counts of all records may take so much: a power
  // of two.
  static std::uint32_t lines_for(std::uint64_t kernel_memory);

  RecordLines() = default;
  // The maps record_lines, with so many, line_times and line_chunks.
  RecordLines(std::uint32_t count, kernel::MapMemory lines, kernel::MapMemory times,
              kernel::MapMemory chunks)
      : count_(count),
        lines_(std::move(lines)),
        times_(std::move(times)),
        chunks_(std::move(chunks)) {}

  // Counts for the IOC of that generation.
  Table read(std::uint32_t generation) const;
  // Its lines count nothing more, but for programs that have begun. What they have counted stays.
  void stop(std::uint32_t generation) const;
  // Empties the lines and frees them for others. No program may count for the IOC any more. Returns
  // the number of chunks: so many places of IOCX_HELD_LINES must be given back.
  std::uint32_t release(std::uint32_t generation) const;

 private:
  template <class Each>
  void for_each_chunk(std::uint32_t generation, Each each) const;

  std::uint32_t count_ = 0;
  kernel::MapMemory lines_, times_, chunks_;
};

}  // namespace ioc_exporter::records
