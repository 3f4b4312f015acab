#include "probes/ca_tap.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace ioc_exporter::probes {
namespace {

static_assert(sizeof(iocx_ca_server) == 24 && sizeof(iocx_ca_flow_key) == 40);
static_assert(sizeof(iocx_ca_channel_key) == 16 && sizeof(iocx_ca_cid) == 16);
static_assert(sizeof(iocx_ca_channel) == 64 && offsetof(iocx_ca_channel, puts) == 16 &&
              offsetof(iocx_ca_channel, state) == 40);
static_assert(sizeof(iocx_ca_stream) == 280 && sizeof(iocx_ca_direction) == 296);
static_assert(sizeof(iocx_ca_flow) == 752 && offsetof(iocx_ca_flow, directions) == 160);
static_assert(sizeof(iocx_ca_channel_info) == 392 && offsetof(iocx_ca_channel_info, name) == 160);

// Label `reason`, in the order of enum iocx_ca_drop.
constexpr std::array<const char*, IOCX_CA_DROPS> kReasons{
    "stream_gap",    "resync",           "joined_late", "lock_timeout", "nested_run",
    "circuits_full", "channels_full",    "unnamed_put", "lost_put",     "name_cut",
    "not_parsed",    "segment_too_long", "not_ca",      "after_end"};

// A text of the kernel's: ends at its first zero byte.
template <std::size_t N>
std::string text(const char (&bytes)[N]) {
  return std::string(bytes, std::find(bytes, bytes + N, '\0'));
}

CaPutLabels labels_of(std::uint32_t ioc, const iocx_ca_channel_info& info) {
  return {ioc, text(info.name), ca_address_text(info.client), text(info.user), text(info.host)};
}

bool same_servers(const std::map<iocx_ca_server, std::uint32_t, CaKeyLess>& a,
                  const std::map<iocx_ca_server, std::uint32_t, CaKeyLess>& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return __builtin_memcmp(&x.first, &y.first, sizeof x.first) == 0 && x.second == y.second;
  });
}

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
  std::set<std::uint64_t> alive;
  std::set<std::uint64_t> ended;
  std::vector<Flow> flows;
};

CaTap::CaTap(CaTapOptions options, bpf::CaTapObject object, UniqueFd socket)
    : options_(std::move(options)),
      object_(std::move(object)),
      socket_(std::move(socket)),
      totals_(options_.max_series),
      used_(object_.max_channels()) {}

Result<CaTap> CaTap::start(CaTapOptions options) {
  auto object = bpf::CaTapObject::load(options.sizes, options.lock);
  if (!object) return std::move(object).error();
  auto socket = object->attach();
  if (!socket) return std::move(socket).error();
  return CaTap(std::move(options), std::move(*object), std::move(*socket));
}

Result<void> CaTap::set_servers(const std::vector<CaServer>& servers, Clock::time_point now) {
  if (auto ok = update_addresses(); !ok) return ok;
  const iocx_ca_address any_v4 = ca_address_v4({0, 0, 0, 0});
  ServerMap wanted;
  for (const CaServer& server : servers) {
    iocx_ca_server key{};
    if (__builtin_memcmp(&server.address, &any_v4, sizeof any_v4) != 0)
      key.address = server.address;
    key.port = server.port;
    wanted.insert_or_assign(key, server.ioc);
  }
  keep_left_servers(wanted, now);
  servers_changed_ = servers_changed_ || !same_servers(wanted, servers_);
  if (!servers_changed_) return {};
  if (auto ok = update_servers(wanted); !ok) return ok;
  if (auto ok = give_circuits_their_iocs(); !ok) return ok;
  servers_changed_ = false;
  return {};
}

// Adds the servers that are not named any more, for kKeepServer.
void CaTap::keep_left_servers(ServerMap& wanted, Clock::time_point now) {
  for (const auto& [key, ioc] : servers_)
    if (!wanted.contains(key)) left_servers_.try_emplace(key, now);
  std::erase_if(left_servers_, [&](const auto& entry) {
    return wanted.contains(entry.first) || now - entry.second >= kKeepServer;
  });
  for (const auto& [key, since] : left_servers_) wanted.emplace(key, kCaIocToCome);
}

Result<void> CaTap::update_servers(const ServerMap& wanted) {
  std::array<std::uint64_t, 1024> ports{};
  for (const auto& [key, ioc] : wanted)
    ports[key.port / 64u] |= std::uint64_t{1} << (key.port % 64u);
  for (const auto& [key, ioc] : servers_) {
    if (wanted.contains(key)) continue;
    if (auto erased = object_.servers().erase(key); !erased) return std::move(erased).error();
  }
  // What the kernel has: after an error the next call brings the rest.
  std::erase_if(servers_, [&wanted](const auto& entry) { return !wanted.contains(entry.first); });
  for (const auto& [key, ioc] : wanted) {
    const auto known = servers_.find(key);
    if (known != servers_.end() && known->second == ioc) continue;
    if (auto ok = object_.servers().update(key, ioc); !ok) return ok;
    servers_.insert_or_assign(key, ioc);
  }
  // Last, so that a port that is watched has its server.
  for (std::size_t word = 0; word < ports.size(); ++word)
    __atomic_store_n(object_.watched_ports() + word, ports[word], __ATOMIC_RELEASE);
  return {};
}

// For circuits that began before the kernel was told whose their server is. Channels of theirs that
// were looked at already go on under the new IOC's name.
Result<void> CaTap::give_circuits_their_iocs() {
  const auto note = [this](const auto& key, const auto& flow) { note_ioc(key, flow); };
  if (auto ok = object_.flows().for_each(note); !ok) return ok;
  for (std::uint32_t slot = 0; slot < object_.max_channels(); ++slot) {
    const auto& channel = object_.channels()[slot];
    const std::uint64_t id = __atomic_load_n(&channel.channel, __ATOMIC_RELAXED);
    const auto ioc = iocs_.find(channel.circuit);
    if (ioc == iocs_.end() || !totals_.is_open(slot, id)) continue;
    auto info = object_.channel_info().lookup(id);
    if (!info) return std::move(info).error();
    if (*info) totals_.relabel(slot, labels_of(ioc->second, **info));
  }
  return {};
}

// A circuit that has ended was its IOC's to its end.
void CaTap::note_ioc(const iocx_ca_flow_key& key, const iocx_ca_flow& flow) {
  if (flow.ended && flow.ioc != kCaIocToCome) return;
  const auto server = find_server(key);
  if (server == servers_.end() || server->second == kCaIocToCome) return;
  if (server->second != flow.ioc)
    iocs_.insert_or_assign(flow.circuit, server->second);
  else
    iocs_.erase(flow.circuit);
}

Result<void> CaTap::update_addresses() {
  auto found = read_local_addresses();
  if (!found) return std::move(found).error();
  for (const auto& address : addresses_) {
    if (found->contains(address)) continue;
    if (auto erased = object_.local_addresses().erase(address); !erased)
      return std::move(erased).error();
  }
  for (const auto& address : *found) {
    if (addresses_.contains(address)) continue;
    if (auto ok = object_.local_addresses().update(address, 1); !ok) return ok;
  }
  addresses_ = std::move(*found);
  return {};
}

Result<void> CaTap::observe_channels() {
  for (std::uint32_t slot = 0; slot < object_.max_channels(); ++slot) {
    const auto& channel = object_.channels()[slot];
    used_[slot] = __atomic_load_n(&channel.state, __ATOMIC_ACQUIRE) != IOCX_CA_SLOT_FREE;
    if (!used_[slot]) continue;
    if (auto ok = observe_channel(slot); !ok) return ok;
  }
  return {};
}

Result<void> CaTap::observe_channel(std::uint32_t slot) {
  const auto& channel = object_.channels()[slot];
  const std::uint64_t id = __atomic_load_n(&channel.channel, __ATOMIC_RELAXED);
  if (!totals_.is_open(slot, id)) {
    auto info = object_.channel_info().lookup(id);
    if (!info) return std::move(info).error();
    if (!*info) {  // being made on another CPU: the next look finds it
      used_[slot] = false;
      return {};
    }
    const auto ioc = ioc_of(**info);
    if (!ioc) return {};
    totals_.open(slot, id, labels_of(*ioc, **info));
  }
  totals_.observe(slot, {__atomic_load_n(&channel.puts[0], __ATOMIC_RELAXED),
                         __atomic_load_n(&channel.puts[1], __ATOMIC_RELAXED)});
  return {};
}

std::optional<std::uint32_t> CaTap::ioc_of(const iocx_ca_channel_info& info) const {
  if (const auto found = iocs_.find(info.circuit); found != iocs_.end()) return found->second;
  if (info.ioc == kCaIocToCome) return std::nullopt;
  return info.ioc;
}

Result<CaTapReading> CaTap::collect() {
  if (auto ok = observe_channels(); !ok) return ok.error();
  CaTapReading reading;
  reading.puts = totals_.counts();
  auto drops = bpf::sum_per_cpu_counters(object_.drops(), IOCX_CA_DROPS);
  if (!drops) return std::move(drops).error();
  for (std::size_t reason = 0; reason < kReasons.size(); ++reason)
    reading.drops.push_back({"ca_tap", kReasons[reason], (*drops)[reason]});
  reading.drops.push_back({"ca_tap", "put_series_full", totals_.overflowed()});
  reading.drops.push_back({"ca_tap", "not_an_ioc", puts_elsewhere_});
  const auto channels = static_cast<std::uint64_t>(std::count(used_.begin(), used_.end(), true));
  reading.maps = {{"ca_channels", channels, object_.max_channels()},
                  {"ca_circuits", circuits_, object_.flows().capacity()},
                  {"ca_servers", servers_.size(), object_.servers().capacity()}};
  return reading;
}

Result<void> CaTap::forget(std::uint32_t ioc) {
  // Channels that were not looked at yet must be known as its own.
  if (auto ok = observe_channels(); !ok) return ok;
  totals_.forget(ioc);
  return {};
}

Result<void> CaTap::reap(Clock::time_point now) {
  Ends ends;
  if (auto ok = observe_channels(); !ok) return ok;
  std::map<std::uint64_t, iocx_ca_channel_key> requests;  // by channel
  const auto note = [&requests](const iocx_ca_channel_key& key, const iocx_ca_cid& value) {
    if (value.slot == IOCX_CA_NO_SLOT) requests.emplace(value.channel, key);
  };
  if (auto ok = object_.cids().for_each(note); !ok) return ok;
  if (auto ok = read_flows(ends); !ok) return ok;
  if (auto ok = look_at_sockets(ends, now); !ok) return ok;
  if (auto ok = free_channels(ends, now); !ok) return ok;

  std::set<std::uint64_t> gone;
  for (const auto& [channel, key] : requests)
    if (!ends.alive.contains(key.circuit)) gone.insert(channel);
  for (const std::uint64_t channel : overdue(gone_requests_, gone, now, kGrace)) {
    if (auto erased = object_.cids().erase(requests.at(channel)); !erased) return erased.error();
    if (auto erased = object_.channel_info().erase(channel); !erased) return erased.error();
  }
  return free_flows(ends, now);
}

Result<void> CaTap::read_flows(Ends& ends) {
  circuits_ = 0;
  auto read = object_.flows().for_each([&](const iocx_ca_flow_key& key, const iocx_ca_flow& flow) {
    ++circuits_;
    ends.flows.push_back({key, flow.circuit});
    (flow.ended ? ends.ended : ends.alive).insert(flow.circuit);
    note_ioc(key, flow);
  });
  if (read)
    std::erase_if(iocs_, [&ends](const auto& entry) {
      return !ends.alive.contains(entry.first) && !ends.ended.contains(entry.first);
    });
  return read;
}

// As find_server() of ca_tap_packet.bpf.h.
CaTap::ServerMap::const_iterator CaTap::find_server(const iocx_ca_flow_key& key) const {
  iocx_ca_server server{};
  server.address = key.server;
  server.port = key.server_port;
  const auto exact = servers_.find(server);
  if (exact != servers_.end()) return exact;
  server.address = {};
  return servers_.find(server);
}

// Moves circuits from `alive` to `ended` that have no server any more, or no socket.
Result<void> CaTap::look_at_sockets(Ends& ends, Clock::time_point now) {
  for (const auto& flow : ends.flows) {
    if (find_server(flow.key) != servers_.end() || ends.alive.erase(flow.circuit) == 0) continue;
    if (auto ok = remove_flow(flow.key, flow.circuit); !ok) return ok;
  }
  if (looked_at_sockets_ && now - *looked_at_sockets_ < kSocketLook) return {};
  looked_at_sockets_ = now;
  const auto watched = [this](std::uint16_t port) {
    return (object_.watched_ports()[port / 64u] >> (port % 64u) & 1u) != 0;
  };
  auto connections = read_tcp_connections(options_.fs, watched);
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
  for (std::uint32_t slot = 0; slot < used_.size(); ++slot) {
    if (!used_[slot]) continue;
    const auto& channel = object_.channels()[slot];
    if (__atomic_load_n(&channel.state, __ATOMIC_ACQUIRE) != IOCX_CA_SLOT_ENDED &&
        ends.alive.contains(channel.circuit))
      continue;
    (totals_.is_open(slot, channel.channel) ? gone : orphans).insert(slot);
  }
  for (const std::uint32_t slot : overdue(gone_channels_, gone, now, kGrace))
    if (auto ok = free_channel(slot); !ok) return ok;
  for (const std::uint32_t slot : overdue(gone_orphans_, orphans, now, kPatience))
    if (auto ok = free_channel(slot); !ok) return ok;
  return {};
}

Result<void> CaTap::free_channel(std::uint32_t slot) {
  if (auto ok = observe_channel(slot); !ok) return ok;
  const iocx_ca_channel channel = object_.channels()[slot];
  if (!totals_.is_open(slot, channel.channel)) puts_elsewhere_ += channel.puts[0] + channel.puts[1];
  if (channel.state == IOCX_CA_SLOT_LIVE) {  // lost with its circuit: the kernel left its keys
    const iocx_ca_channel_key by_sid{channel.circuit, channel.sid, 0};
    const iocx_ca_channel_key by_cid{channel.circuit, channel.cid, 0};
    if (auto erased = object_.sids().erase(by_sid); !erased) return erased.error();
    if (auto erased = object_.cids().erase(by_cid); !erased) return erased.error();
  }
  if (auto erased = object_.channel_info().erase(channel.channel); !erased) return erased.error();
  totals_.close(slot);
  gone_channels_.erase(slot);
  gone_orphans_.erase(slot);
  used_[slot] = false;
  return object_.give_slot(slot);
}

Result<void> CaTap::free_flows(const Ends& ends, Clock::time_point now) {
  const auto due = overdue(gone_circuits_, ends.ended, now, kLinger);
  const std::set<std::uint64_t> over(due.begin(), due.end());
  for (const auto& flow : ends.flows)
    if (over.contains(flow.circuit))
      if (auto ok = remove_flow(flow.key, flow.circuit); !ok) return ok;
  return {};
}

// Unless the 4-tuple has begun a new circuit since it was read: then that one is put back.
Result<void> CaTap::remove_flow(const iocx_ca_flow_key& key, std::uint64_t circuit) {
  auto found = object_.flows().lookup(key);
  if (!found) return std::move(found).error();
  if (!*found || (*found)->circuit != circuit) return {};
  auto taken = object_.take_flow(key);
  if (!taken) return std::move(taken).error();
  if (*taken && (*taken)->circuit != circuit) {
    for (auto& direction : (*taken)->directions) direction.lock = 0;
    auto put_back = object_.flows().update(key, **taken, bpf::UpdateMode::only_new);
    if (!put_back && put_back.error().code != std::errc::file_exists) return put_back;
  }
  --circuits_;
  return {};
}

}  // namespace ioc_exporter::probes
