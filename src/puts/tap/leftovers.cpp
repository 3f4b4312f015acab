#include "puts/tap/leftovers.h"

#include <set>
#include <utility>

#include "puts/tap/channels.h"

namespace ioc_exporter::puts {

Result<void> Leftovers::look(Clock::time_point now) {
  sweeps_ = !swept_ || now - *swept_ >= kSweep || object_.caps().is_crowded(IOCX_CA_HELD_REQUESTS);
  requests_.clear();
  if (!sweeps_) return {};
  return object_.maps().cids.for_each([&](const auto& key, const iocx_ca_cid& value) {
    if (value.slot >= object_.max_channels() ||
        object_.channels()[value.slot].channel != value.channel)
      requests_.insert({value.channel, {key, value.slot == IOCX_CA_NO_SLOT}});
  });
}

Result<void> Leftovers::free(const Circuits::Seen& seen, Clock::time_point now) {
  if (sweeps_) {
    if (auto ok = free_requests(seen, now); !ok) return ok;
    swept_ = now;
  }
  return free_pages(seen, now);
}

Result<void> Leftovers::free_requests(const Circuits::Seen& seen, Clock::time_point now) {
  std::set<std::uint64_t> gone;
  for (const auto& [channel, request] : requests_)
    if (!seen.alive.contains(request.key.circuit)) gone.insert(channel);
  for (const std::uint64_t channel : gone_requests_.due(gone, now, Channels::kGrace)) {
    const Request& request = requests_.at(channel);
    auto info = object_.maps().channel_info.lookup(channel);
    if (!info) return std::move(info).error();
    if (auto erased = object_.maps().cids.erase(request.key); !erased) return erased.error();
    if (auto erased = object_.maps().channel_info.erase(channel); !erased) return erased.error();
    if (request.waits && *info) object_.caps().give(IOCX_CA_HELD_REQUESTS, (*info)->holder);
  }
  return {};
}

// The program gives back the pages of connections whose end it sees; these are the others'.
Result<void> Leftovers::free_pages(const Circuits::Seen& seen, Clock::time_point now) {
  std::set<std::uint32_t> gone;
  pages_ = 0;
  for (std::uint32_t page = 0; page < object_.max_pages(); ++page) {
    const std::uint64_t circuit =
        __atomic_load_n(&object_.page_owners()[page].circuit, __ATOMIC_RELAXED);
    if (circuit == 0) continue;
    ++pages_;
    if (!seen.alive.contains(circuit) && !seen.ended.contains(circuit)) gone.insert(page);
  }
  for (const std::uint32_t page : gone_pages_.due(gone, now, Channels::kGrace)) {
    if (auto ok = object_.give_page(page); !ok) return ok;
    gone_pages_.forget(page);
    --pages_;
  }
  return {};
}

}  // namespace ioc_exporter::puts
