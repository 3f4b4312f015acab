#include "records/probe/record_lines.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <span>

namespace ioc_exporter::records {
namespace {

constexpr std::uint64_t kBytes = sizeof(iocx_record_line) + sizeof(iocx_line_times);
constexpr std::uint64_t kLeast = 4096, kMost = 131072;  // lines

// The programs write at the same time: each word is whole.
template <class Word>
std::atomic_ref<Word> shared(Word& word) {
  return std::atomic_ref<Word>(word);
}

}  // namespace

std::uint32_t RecordLines::lines_for(std::uint64_t kernel_memory) {
  return static_cast<std::uint32_t>(
      std::bit_floor(std::clamp(kernel_memory / 16 / kBytes, kLeast, kMost)));
}

void RecordLines::Counts::add_to(iocx_record_stats& stats) const {
  stats.processed += untimed + times.timed;
  stats.untimed += untimed;
  stats.sum_ns += times.sum_ns;
  stats.self_ns += times.self_ns;
  for (const std::uint32_t slot : times.slots) {
    const std::uint32_t bucket = (slot >> IOCX_LINE_SLOT_SHIFT) - 1;
    if (bucket < IOCX_HIST_SLOTS) stats.buckets[bucket] += slot & IOCX_LINE_SLOT_MOST;
  }
}

// each(chunk, index of its first line)
template <class Each>
void RecordLines::for_each_chunk(std::uint32_t generation, Each each) const {
  auto* const chunks = static_cast<iocx_line_chunk*>(chunks_.data());
  for (std::size_t i = 0; i < count_ / IOCX_CHUNK_LINES; ++i)
    if (shared(chunks[i].generation).load() == generation) each(chunks[i], i * IOCX_CHUNK_LINES);
}

RecordLines::Table RecordLines::read(std::uint32_t generation) const {
  auto* const lines = static_cast<iocx_record_line*>(lines_.data());
  auto* const times = static_cast<iocx_line_times*>(times_.data());
  Table table;
  for_each_chunk(generation, [&](iocx_line_chunk&, std::size_t first) {
    for (std::size_t i = first; i < first + IOCX_CHUNK_LINES; ++i) {
      const std::uint64_t record = shared(lines[i].record).load();
      if (record == 0) continue;
      Counts counts{.untimed = shared(lines[i].untimed).load()};
      counts.times.timed = shared(times[i].timed).load();
      counts.times.sum_ns = shared(times[i].sum_ns).load();
      counts.times.self_ns = shared(times[i].self_ns).load();
      for (std::size_t slot = 0; slot < IOCX_LINE_SLOTS; ++slot)
        counts.times.slots[slot] = shared(times[i].slots[slot]).load();
      table.emplace(record, counts);
    }
  });
  return table;
}

void RecordLines::stop(std::uint32_t generation) const {
  auto* const lines = static_cast<iocx_record_line*>(lines_.data());
  for_each_chunk(generation, [&](iocx_line_chunk&, std::size_t first) {
    for (iocx_record_line& line : std::span(lines + first, IOCX_CHUNK_LINES))
      if (shared(line.record).load() != 0) shared(line.left).store(1);
  });
}

std::uint32_t RecordLines::release(std::uint32_t generation) const {
  auto* const lines = static_cast<iocx_record_line*>(lines_.data());
  auto* const times = static_cast<iocx_line_times*>(times_.data());
  std::uint32_t released = 0;
  for_each_chunk(generation, [&](iocx_line_chunk& chunk, std::size_t first) {
    std::ranges::fill(std::span(lines + first, IOCX_CHUNK_LINES), iocx_record_line{});
    std::ranges::fill(std::span(times + first, IOCX_CHUNK_LINES), iocx_line_times{});
    shared(chunk.generation).store(0);
    shared(chunk.claims).store(0);  // whoever takes it from now on finds it empty
    ++released;
  });
  return released;
}

}  // namespace ioc_exporter::records
