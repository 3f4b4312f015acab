#include "records/probe/kernel_memory.h"

#include <algorithm>

#include "base/ascii.h"

namespace ioc_exporter::records {

// The one that has least gets more first: all rise to the same level, or to what they are to get.
std::vector<std::uint64_t> share_memory(std::uint64_t limit,
                                        const std::vector<MemoryClaim>& claims) {
  std::vector<std::uint64_t> granted;
  granted.reserve(claims.size());
  for (const MemoryClaim& claim : claims) granted.push_back(claim.held);
  for (const auto goal : {&MemoryClaim::likely, &MemoryClaim::wanted}) {
    const auto at = [&](std::size_t i, std::uint64_t level) {
      const std::uint64_t most = std::min({claims[i].*goal, claims[i].wanted, limit / 2});
      return std::max(granted[i], std::min(most, level));
    };
    std::uint64_t low = 0,
                  high = std::max(limit, limit + 1);  // low is within the limit, if any level is
    while (high - low > 1) {
      const std::uint64_t middle = low + (high - low) / 2;
      std::uint64_t sum = 0;
      for (std::size_t i = 0; i < claims.size(); ++i) sum += at(i, middle);
      (sum <= limit ? low : high) = middle;
    }
    for (std::size_t i = 0; i < claims.size(); ++i) granted[i] = at(i, low);
  }
  return granted;
}

namespace {

constexpr std::uint64_t kMiB = 1u << 20;
// Entries that an IOC is likely to add before the next tick.
constexpr std::uint64_t kLikely = 1024;

}  // namespace

std::uint64_t usual_kernel_memory(const RootedFs& fs) {
  const auto info = fs.read("/proc/meminfo", 4096);
  const std::uint64_t kib = info ? number_after(*info, "MemTotal:").value_or(0) : 0;
  return std::clamp(kib * 1024 / 16, 64 * kMiB, 2048 * kMiB);
}

kernel::HashShape KernelMemory::shape_of(const Claim& claim) const {
  return {sizeof(std::uint64_t), claim.wish.value_size,
          claim.capacity > 0 ? claim.capacity : claim.wish.entries, on_demand_};
}

MemoryClaim KernelMemory::memory_claim(const RecordRooms& rooms, const Claim& claim) const {
  const kernel::HashShape shape = shape_of(claim);
  const auto bytes = [&](std::uint64_t entries) {
    return kernel::hash_bytes(shape, std::min<std::uint64_t>(entries, shape.max_entries), cpus_);
  };
  const std::uint64_t used = claim.capacity > 0 ? rooms.used(claim.wish.room) : 0;
  return {.held = claim.capacity > 0 ? bytes(used) : 0,
          .likely = bytes(used + std::max(used, kLikely)),
          .wanted = bytes(shape.max_entries)};
}

std::map<std::uint32_t, std::uint64_t> KernelMemory::shares(const RecordRooms& rooms) const {
  std::vector<MemoryClaim> claims;
  claims.reserve(claims_.size());
  for (const auto& [room, claim] : claims_) claims.push_back(memory_claim(rooms, claim));
  const auto shared = share_memory(limit_, claims);
  std::map<std::uint32_t, std::uint64_t> by_room;
  std::size_t index = 0;
  for (const auto& [room, claim] : claims_) by_room.emplace(room, shared[index++]);
  return by_room;
}

// No limit where the map has room for the whole database: if it is full, the share is not the
// reason.
std::uint64_t KernelMemory::limit_within(const Claim& claim, std::uint64_t bytes) const {
  const kernel::HashShape shape = shape_of(claim);
  const bool all = claim.capacity >= claim.wish.entries;
  const std::uint64_t entries =
      on_demand_ ? kernel::hash_entries_within(shape, bytes, cpus_) : claim.capacity;
  return all && entries >= claim.capacity ? RecordRooms::kNoLimit : entries;
}

void KernelMemory::apply(const RecordRooms& rooms, bool only_less) {
  for (const auto& [room, bytes] : shares(rooms)) {
    Claim& claim = claims_.at(room);
    if (claim.capacity == 0) continue;
    const std::uint64_t limit = limit_within(claim, bytes);
    if (limit == claim.limit || (only_less && limit > claim.limit)) continue;
    claim.limit = limit;
    rooms.set_limit(room, limit);
  }
}

// First what is taken from some, then, by what they use when they can take no more, what others
// get.
void KernelMemory::share(const RecordRooms& rooms) {
  apply(rooms, true);
  apply(rooms, false);
}

Result<std::uint32_t> KernelMemory::claim(const RecordRooms& rooms, const Wish& wish) {
  const auto known = claims_.find(wish.room);
  const std::uint32_t present = known != claims_.end() ? known->second.capacity : 0;
  const std::uint64_t present_limit = known != claims_.end() ? known->second.limit : 0;
  Claim& claim = claims_[wish.room];
  claim = {wish, 0, present_limit};
  claim.wish.entries = std::max({wish.entries, present, kLeastEntries});
  if (present == 0) rooms.clear(wish.room);
  apply(rooms, true);
  const std::uint64_t bytes = shares(rooms).at(wish.room);
  const std::uint32_t capacity = kernel::hash_capacity_within(shape_of(claim), bytes, cpus_);
  if (capacity < kLeastEntries && present == 0) {
    claims_.erase(wish.room);
    share(rooms);
    return error_in_words("no room for the counts of its records: --limit.kernel-memory (" +
                          std::to_string(limit_ / kMiB) + " MiB, see docs/cost.md) is used up");
  }
  // A larger map, where the share is used up, must be worth the move.
  const bool grows = capacity >= claim.wish.entries || capacity >= present + present / 2;
  claim.capacity = present > 0 && !grows ? present : std::max(capacity, present);
  share(rooms);
  return claim.capacity;
}

void KernelMemory::release(const RecordRooms& rooms, std::uint32_t room) {
  if (claims_.erase(room) == 0) return;
  rooms.set_limit(room, 0);
  share(rooms);
}

KernelMemoryUse KernelMemory::use(const RecordRooms& rooms) const {
  KernelMemoryUse use{.limit = limit_};
  for (const auto& [room, claim] : claims_)
    if (claim.capacity > 0)
      use.bytes += kernel::hash_bytes(
          shape_of(claim), std::min<std::uint64_t>(rooms.used(room), claim.capacity), cpus_);
  return use;
}

}  // namespace ioc_exporter::records
