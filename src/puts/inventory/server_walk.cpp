#include "puts/inventory/server_walk.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "iocs/memory/database_walk.h"

namespace ioc_exporter::puts {
namespace {

constexpr std::uint32_t kMostBits = 16;  // of the hash; rsrv makes 12
constexpr std::uint64_t kMostChannels = 1'000'000;
constexpr std::int32_t kMostClients = 100'000;

// An item that waits to be read, and the chain in which it hangs.
struct Link {
  std::uint64_t address = 0;
  std::uint32_t chain = 0;
};

class HashReader {
 public:
  HashReader(iocs::Memory& memory, const layout::Bucket& bucket)
      : memory_(memory), bucket_(bucket) {
    found_.in_use = bucket.in_use;
  }

  // All chains at once, one item of each after the other in the order of their addresses: they were
  // made in that order mostly, and so the memory is passed few times.
  Result<ChannelHash> run() {
    auto links = read_heads();
    if (!links) return std::move(links).error();
    while (!links->empty()) {
      std::ranges::sort(*links, {}, &Link::address);
      std::vector<Link> next;
      for (const Link& link : *links) {
        if (found_.entries.size() >= bucket_.in_use + kSlack)
          return error_in_words("hash of channels: more than the " +
                                std::to_string(bucket_.in_use) + " items that it has");
        if (const std::uint64_t after = read_item(link); after != 0)
          next.push_back({after, link.chain});
      }
      *links = std::move(next);
    }
    std::ranges::sort(found_.entries);
    return std::move(found_);
  }

 private:
  static constexpr std::uint64_t kSlack = 4096;  // channels that may come while it is read

  Result<std::vector<Link>> read_heads() {
    std::vector<std::uint64_t> heads(bucket_.mask + std::size_t{1});
    auto done = memory_.read(bucket_.table, std::as_writable_bytes(std::span(heads)));
    if (!done) return error_in_words("hash of channels: " + done.error().message());
    std::vector<Link> links;
    for (std::uint32_t chain = 0; chain < heads.size(); ++chain)
      if (heads[chain] != 0) links.push_back({heads[chain], chain});
    return links;
  }

  std::uint64_t torn(const std::string& what) {
    if (found_.torn.empty()) found_.torn = "hash of channels: " + what;
    return 0;
  }

  // Takes in one item; gives the next of its chain, or 0.
  std::uint64_t read_item(const Link& link) {
    if (!iocs::is_pointer(link.address))
      return torn(iocs::hex_address(link.address) + " is no pointer");
    if (!visited_.insert(link.address).second) return torn("an item is there twice");
    const auto item = memory_.value<layout::BucketItem>(link.address);
    if (!item) return torn(item.error().message());
    if (item->type != layout::kIdIsUnsigned) return torn("an item is of another type");
    if (!iocs::is_pointer(item->application) ||
        item->id - item->application != offsetof(layout::ChannelInUse, sid))
      return torn("an item's id is at " + iocs::hex_address(item->id) + ", its channel at " +
                  iocs::hex_address(item->application));
    const auto sid = memory_.value<std::uint32_t>(item->id);
    if (!sid) return torn(sid.error().message());
    if (bucket_of_sid(*sid, bucket_) != link.chain)
      return torn("channel " + std::to_string(*sid) + " is in another channel's place");
    found_.entries.push_back({item->application, *sid});
    return item->next;
  }

  iocs::Memory& memory_;
  const layout::Bucket bucket_;
  std::unordered_set<std::uint64_t> visited_;
  ChannelHash found_;
};

}  // namespace

std::uint32_t bucket_of_sid(std::uint32_t sid, const layout::Bucket& bucket) {
  std::uint32_t hash = sid;
  for (std::uint32_t upper = sid >> bucket.bits; upper != 0; upper >>= bucket.bits) hash ^= upper;
  return hash & bucket.mask;
}

Result<ChannelHash> read_channel_hash(iocs::Memory& memory, std::uint64_t bucket) {
  const auto raw = memory.value<layout::Bucket>(bucket);
  if (!raw) return error_in_words("hash of channels: " + raw.error().message());
  if (raw->bits == 0 || raw->bits > kMostBits || raw->mask != (1u << raw->bits) - 1 ||
      !iocs::is_pointer(raw->table) || raw->in_use > kMostChannels)
    return error_in_words("hash of channels: " + std::to_string(raw->in_use) + " items, " +
                          std::to_string(raw->bits) + " bits, mask " +
                          iocs::hex_address(raw->mask) + ", table " +
                          iocs::hex_address(raw->table) + ": it is none");
  return HashReader(memory, *raw).run();
}

Result<std::vector<ClientNode>> read_client_queue(iocs::Memory& memory,
                                                  std::uint64_t client_queue) {
  const std::string what = "list of clients";
  const auto list = memory.value<layout::EllList>(client_queue);
  if (!list) return error_in_words(what + ": " + list.error().message());
  std::vector<ClientNode> clients;
  auto done = iocs::walk_list(memory, *list, kMostClients, what,
                              [&](std::uint64_t address) -> Result<void> {
                                const auto raw = memory.value<layout::RsrvClient>(address);
                                if (!raw)
                                  return error_in_words(what + ": " + raw.error().message());
                                clients.push_back({address, *raw});
                                return {};
                              });
  if (!done) return done.error();
  return clients;
}

std::optional<bool> read_flow_control(iocs::Memory& memory, const ClientNode& client) {
  if (!iocs::is_pointer(client.raw.events)) return std::nullopt;
  for (const layout::EventUserPlaces& places : layout::kEventUserPlaces) {
    const auto found = memory.value<std::uint64_t>(client.raw.events + places.client);
    if (!found || *found != client.address) continue;
    const auto flags = memory.value<layout::EventFlags>(client.raw.events + places.flags);
    const bool fits = flags && flags->exit_pending <= 1 && flags->extra_labor <= 1 &&
                      flags->flow_control <= 1 && flags->extra_labor_busy <= 1;
    return fits ? std::optional(flags->flow_control == 1) : std::nullopt;
  }
  return std::nullopt;
}

Result<std::string> read_text(iocs::Memory& memory, std::uint64_t address, std::size_t most) {
  std::string text;
  std::array<char, 256> chunk;
  while (text.size() < most - 1) {
    const std::size_t room = std::min(chunk.size(), most - 1 - text.size());
    auto got = memory.read_some(address + text.size(),
                                std::as_writable_bytes(std::span(chunk).first(room)));
    if (!got) return std::move(got).error();
    const auto end =
        std::find(chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(*got), '\0');
    text.append(chunk.begin(), end);
    if (end != chunk.begin() + static_cast<std::ptrdiff_t>(*got)) break;
  }
  return text;
}

}  // namespace ioc_exporter::puts
