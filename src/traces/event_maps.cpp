#include "traces/event_maps.h"

#include <cstddef>
#include <cstring>
#include <utility>

#include "kernel/load_error.h"

namespace ioc_exporter::traces {
namespace {

constexpr std::uint32_t kMiB = 1024 * 1024;

}  // namespace

TraceMaps::TraceMaps(const Options& options) {
  if (!options.enabled) return;
  if (auto made = make(options); !made) {
    problem_ = kernel::explain_load_error(made.error());
    ring_.reset();
  }
}

Result<void> TraceMaps::make(const Options& options) {
  auto puts = kernel::make_lru_hash("trace_puts", sizeof(std::uint64_t), sizeof(iocx_trace_put),
                                    IOCX_TRACE_PUTS);
  if (!puts) return std::move(puts).error();
  puts_ = std::move(*puts);
  auto view = kernel::MapView<std::uint64_t, iocx_trace_put>::from_fd(puts_.get());
  if (!view) return std::move(view).error();
  puts_view_ = std::move(*view);
  auto pva_puts = kernel::make_lru_hash("trace_pva_puts", sizeof(std::uint64_t),
                                        sizeof(iocx_trace_pva_put), IOCX_TRACE_PUTS);
  if (!pva_puts) return std::move(pva_puts).error();
  pva_puts_ = std::move(*pva_puts);
  auto shares = kernel::RingShares::create("trace_shares", IOCX_MAX_IOCS);
  if (!shares) return std::move(shares).error();
  shares_ = std::move(*shares);
  auto ring = kernel::EventRing::create("trace_events", options.buffer_mib * kMiB);
  if (!ring) return std::move(ring).error();
  ring_.emplace(std::move(*ring));
  return {};
}

kernel::TraceUse TraceMaps::use() const {
  if (!ring_) return {};
  return {ring_->fd(),       shares_.fd(), ring_->size(),
          ring_->size() / 4, puts_.get(),  pva_puts_.get()};
}

std::optional<std::uint64_t> TraceMaps::put_end(const iocx_trace_put& put) const {
  const auto end = puts_view_.lookup(IOCX_TRACE_PUT_END(put.time));
  if (!end || !*end || (*end)->slot != put.slot) return std::nullopt;
  return (*end)->id;
}

void TraceMaps::note_read(std::span<const std::byte> event) const {
  static_assert(offsetof(iocx_trace_chain, slot) == offsetof(iocx_trace_pva_put, slot));
  std::uint32_t slot;
  if (event.size() < offsetof(iocx_trace_chain, slot) + sizeof slot) return;
  std::memcpy(&slot, event.data() + offsetof(iocx_trace_chain, slot), sizeof slot);
  shares_.note_read(slot, event.size());
}

}  // namespace ioc_exporter::traces
