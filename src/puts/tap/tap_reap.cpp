// The part of CaTap that frees what has ended.
#include "puts/tap/tap.h"

#include <set>
#include <unordered_set>
#include <utility>

namespace ioc_exporter::ca {
namespace {

// Keeps the keys of `gone` that are gone still, and gives those that have been for long enough.
template <class Key>
std::vector<Key> overdue(std::map<Key, CaTap::Clock::time_point>& since, const std::set<Key>& gone,
                         CaTap::Clock::time_point now, std::chrono::seconds wait) {
  std::erase_if(since, [&gone](const auto& entry) { return !gone.contains(entry.first); });
  std::vector<Key> due;
  for (const Key& key : gone) {
    const auto [entry, is_new] = since.try_emplace(key, now);
    if (!is_new && now - entry->second >= wait) due.push_back(key);
  }
  return due;
}

}  // namespace

// Circuits as the kernel has them. Read after the channels: a channel whose circuit is not `alive`
// here has lost it.
struct CaTap::Ends {
  struct Flow {
    iocx_ca_flow_key key;
    std::uint64_t circuit;
  };
  std::unordered_set<std::uint64_t> alive;
  std::set<std::uint64_t> ended;
  std::vector<Flow> flows;
};

// Entries that the kernel leaves behind beside channels. Read before the circuits.
struct CaTap::UnownedEntries {
  // Requests: entries that lead from a CID to no channel, because it was not answered yet, or ended
  // at the moment at which seed() named it. By channel.
  struct Request {
    iocx_ca_channel_key key;
    bool waits;
  };
  std::map<std::uint64_t, Request> requests;
  std::vector<iocx_ca_channel_key> cleared;  // IOCX_CA_CLEARED in ca_sids
};

Result<void> CaTap::reap(Clock::time_point now) {
  Ends ends;
  if (auto ok = observe_flows(); !ok) return ok;
  if (auto ok = observe_channels(now); !ok) return ok;
  sources_.look();
  UnownedEntries unowned;
  const bool sweeps = !swept_ || now - *swept_ >= kSweep ||
                      object_.is_crowded(IOCX_CA_SHARE_REQUESTS) ||
                      object_.is_crowded(IOCX_CA_SHARE_CLEARED);
  if (sweeps)
    if (auto ok = read_unowned(unowned); !ok) return ok;
  if (auto ok = read_flows(ends); !ok) return ok;
  // After the circuits, so that a new one's server is known.
  if (auto ok = read_learned(now); !ok) return ok;
  if (auto ok = look_at_sockets(ends, now); !ok) return ok;
  if (auto ok = free_channels(ends, now); !ok) return ok;
  if (sweeps) {
    if (auto ok = free_unowned(ends, unowned, now); !ok) return ok;
    swept_ = now;
  }
  if (auto ok = free_pages(ends, now); !ok) return ok;
  return free_flows(ends, now);
}

Result<void> CaTap::read_unowned(UnownedEntries& unowned) {
  auto requests = object_.maps().cids.for_each([&](const auto& key, const iocx_ca_cid& value) {
    if (value.slot >= object_.max_channels() ||
        object_.channels()[value.slot].channel != value.channel)
      unowned.requests.insert({value.channel, {key, value.slot == IOCX_CA_NO_SLOT}});
  });
  if (!requests) return requests;
  return object_.maps().sids.for_each([&](const auto& key, std::uint32_t slot) {
    if (slot == IOCX_CA_CLEARED) unowned.cleared.push_back(key);
  });
}

// Entries of circuits that are alive stay: the kernel may be using them.
Result<void> CaTap::free_unowned(const Ends& ends, const UnownedEntries& unowned,
                                 Clock::time_point now) {
  std::set<std::uint64_t> gone;
  for (const auto& [channel, request] : unowned.requests)
    if (!ends.alive.contains(request.key.circuit)) gone.insert(channel);
  for (const std::uint64_t channel : overdue(gone_requests_, gone, now, kGrace)) {
    const auto& request = unowned.requests.at(channel);
    auto info = object_.maps().channel_info.lookup(channel);
    if (!info) return std::move(info).error();
    if (auto erased = object_.maps().cids.erase(request.key); !erased) return erased.error();
    if (auto erased = object_.maps().channel_info.erase(channel); !erased) return erased.error();
    if (request.waits && *info)
      object_.give_share(IOCX_CA_SHARE_REQUESTS, request.key.circuit, (*info)->address);
  }
  for (const auto& by_sid : unowned.cleared) {
    if (ends.alive.contains(by_sid.circuit)) continue;
    auto erased = object_.maps().sids.erase(by_sid);
    if (!erased) return erased.error();
    if (*erased) object_.give_share(IOCX_CA_SHARE_CLEARED, by_sid.circuit, IOCX_SHARE_LOCAL);
  }
  return {};
}

// Learns about the circuit's server.
void CaTap::look_at_server(const iocx_ca_flow_key& key) {
  const auto server = find_server(key);
  if (server == servers_.end()) return;
  const bool by_wildcard =
      __builtin_memcmp(&server->first.address, &key.server, sizeof key.server) != 0;
  if (server->first.remote && by_wildcard)
    remote_peers_.insert({key.server, key.server_port, 1, key.net});
}

Result<void> CaTap::read_flows(Ends& ends) {
  circuits_ = 0;
  joined_.clear();
  remote_peers_.clear();
  auto read =
      object_.maps().flows.for_each([&](const iocx_ca_flow_key& key, const iocx_ca_flow& flow) {
        ++circuits_;
        ends.flows.push_back({key, flow.circuit});
        if (flow.ended)
          ends.ended.insert(flow.circuit);
        else
          ends.alive.insert(flow.circuit);
        note_ioc(key, flow);
        note_circuit(flow);
        look_at_server(key);
      });
  if (!read) return read;
  const auto is_gone = [this](const auto& entry) { return !joined_.contains(entry.first); };
  std::erase_if(iocs_, is_gone);
  std::erase_if(identities_, is_gone);
  return {};
}

// Moves circuits from `alive` to `ended` that have no server any more, or no socket.
Result<void> CaTap::look_at_sockets(Ends& ends, Clock::time_point now) {
  for (const auto& flow : ends.flows) {
    if (is_served(flow.key)) continue;
    if (ends.alive.erase(flow.circuit) == 0) continue;
    if (auto ok = remove_flow(flow.key, flow.circuit); !ok) return ok;
  }
  const auto wait =
      object_.is_crowded(IOCX_CA_SHARE_CIRCUITS) ? kSocketLookWhenCrowded : kSocketLook;
  if (looked_at_sockets_ && now - *looked_at_sockets_ < wait) return {};
  looked_at_sockets_ = now;
  auto connections = read_all_connections();
  if (!connections) return std::move(connections).error();
  std::map<std::uint64_t, bool> without;
  for (const auto& flow : ends.flows) {
    if (!ends.alive.contains(flow.circuit) || connections->contains(flow.key)) continue;
    if (!without_socket_.contains(flow.circuit)) {
      without.emplace(flow.circuit, true);
      continue;
    }
    if (auto ok = remove_flow(flow.key, flow.circuit); !ok) return ok;
    ends.alive.erase(flow.circuit);
  }
  without_socket_ = std::move(without);
  return {};
}

Result<void> CaTap::free_channels(const Ends& ends, Clock::time_point now) {
  std::set<std::uint32_t> gone, orphans;
  unnamed_.clear();
  std::uint64_t circuit = 0;  // the last one asked for: neighbours mostly share theirs
  bool alive = false;
  for (std::uint32_t slot = 0; slot < used_end_; ++slot) {
    if (!used_[slot]) continue;
    const auto& channel = object_.channels()[slot];
    const std::uint32_t state = __atomic_load_n(&channel.state, __ATOMIC_ACQUIRE);
    if (state != IOCX_CA_SLOT_ENDED) {
      if (channel.circuit != circuit) {
        circuit = channel.circuit;
        alive = ends.alive.contains(circuit);
      }
      if (alive && state != IOCX_CA_SLOT_LIVE) count_unnamed(slot);
      if (alive) continue;
    }
    const bool waits = waiting_puts(slot) > 0 || !totals_->puts.is_open(slot, channel.channel);
    (waits ? orphans : gone).insert(slot);
  }
  auto due = overdue(gone_channels_, gone, now, kGrace);
  const auto due_orphans = overdue(gone_orphans_, orphans, now, kPatience);
  due.insert(due.end(), due_orphans.begin(), due_orphans.end());
  if (due.empty()) return {};
  if (auto ok = observe_outcomes(); !ok) return ok;
  std::set<std::uint64_t> channels;
  for (const std::uint32_t slot : due) channels.insert(object_.channels()[slot].channel);
  for (const std::uint32_t slot : due)
    if (auto ok = free_channel(slot, now); !ok) return ok;
  return free_outcomes(channels);
}

Result<void> CaTap::free_channel(std::uint32_t slot, Clock::time_point now) {
  if (auto ok = observe_channel(slot, now); !ok) return ok;
  const iocx_ca_channel channel = object_.channels()[slot];
  if (const std::uint64_t waiting = waiting_puts(slot); waiting > 0)
    sources_.add_missing(placed_[slot].ioc, waiting);
  else if (!totals_->puts.is_open(slot, channel.channel))
    puts_elsewhere_ += channel.puts[0] + channel.puts[1];
  if (channel.state != IOCX_CA_SLOT_SHARED) {
    // The server may not have confirmed the end, and used the SID again all the same.
    const iocx_ca_channel_key by_sid{channel.circuit, channel.sid, 0};
    auto found = object_.maps().sids.lookup(by_sid);
    if (!found) return std::move(found).error();
    if (*found == slot)
      if (auto erased = object_.maps().sids.erase(by_sid); !erased) return erased.error();
  }
  if (channel.state == IOCX_CA_SLOT_LIVE) {  // lost with its circuit: the kernel left its key
    const iocx_ca_channel_key by_cid{channel.circuit, channel.cid, 0};
    if (auto erased = object_.maps().cids.erase(by_cid); !erased) return erased.error();
  }
  auto info = object_.maps().channel_info.lookup(channel.channel);
  if (!info) return std::move(info).error();
  if (auto erased = object_.maps().channel_info.erase(channel.channel); !erased)
    return erased.error();
  const std::uint32_t address = *info ? (*info)->address : IOCX_SHARE_LOCAL;
  totals_->puts.close(slot);
  gone_channels_.erase(slot);
  gone_orphans_.erase(slot);
  held_.erase(slot);
  used_[slot] = false;
  return object_.give_slot(slot, address);
}

Result<void> CaTap::free_flows(const Ends& ends, Clock::time_point now) {
  const auto wait = object_.is_crowded(IOCX_CA_SHARE_CIRCUITS) ? kLingerWhenCrowded : kLinger;
  const auto due = overdue(gone_circuits_, ends.ended, now, wait);
  const std::set<std::uint64_t> over(due.begin(), due.end());
  for (const auto& flow : ends.flows)
    if (over.contains(flow.circuit))
      if (auto ok = remove_flow(flow.key, flow.circuit); !ok) return ok;
  return {};
}

// The program gives back the pages of connections whose end it sees; these are the others'.
Result<void> CaTap::free_pages(const Ends& ends, Clock::time_point now) {
  std::set<std::uint32_t> gone;
  pages_ = 0;
  for (std::uint32_t page = 0; page < object_.max_pages(); ++page) {
    const std::uint64_t circuit =
        __atomic_load_n(&object_.page_owners()[page].circuit, __ATOMIC_RELAXED);
    if (circuit == 0) continue;
    ++pages_;
    if (!ends.alive.contains(circuit) && !ends.ended.contains(circuit)) gone.insert(page);
  }
  for (const std::uint32_t page : overdue(gone_pages_, gone, now, kGrace)) {
    if (auto ok = object_.give_page(page); !ok) return ok;
    gone_pages_.erase(page);
    --pages_;
  }
  return {};
}

// Unless the 4-tuple has begun a new circuit since it was read: then that one is put back.
Result<void> CaTap::remove_flow(const iocx_ca_flow_key& key, std::uint64_t circuit) {
  auto found = object_.maps().flows.lookup(key);
  if (!found) return std::move(found).error();
  if (!*found || (*found)->circuit != circuit) return {};
  auto taken = object_.take_flow(key);
  if (!taken) return std::move(taken).error();
  if (*taken)
    if (const auto ioc = ioc_of((*taken)->circuit, (*taken)->ioc))
      server_totals_.observe(key, *ioc, server_counts((*taken)->counts));
  if (*taken && (*taken)->circuit != circuit) {
    for (auto& direction : (*taken)->directions) direction.lock = 0;
    auto put_back = object_.maps().flows.update(key, **taken, kernel::UpdateMode::only_new);
    if (put_back) return {};
    if (put_back.error().code != std::errc::file_exists) return put_back;
  }
  if (*taken) {
    object_.stop_waiting(**taken);
    object_.give_share(IOCX_CA_SHARE_CIRCUITS, 0, (*taken)->address);
  }
  server_totals_.close(key);
  --circuits_;
  return {};
}

}  // namespace ioc_exporter::ca
