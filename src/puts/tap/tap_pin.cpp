#include "puts/tap/tap_pin.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/socket_cookies.h"
#include "base/wall_clock.h"
#include "puts/tap/connections.h"
#include "puts/tap/tap.h"

namespace ioc_exporter::ca {
namespace {

// Which circuits still have the socket that they had.
class Sockets {
 public:
  Sockets(const CaPins& pins, const RootedFs& fs) : pins_(pins), fs_(fs) {
    if (auto opened = SocketCookies::open()) diag_.emplace(std::move(*opened));
  }

  Result<bool> has(const iocx_ca_flow_key& key, std::uint64_t circuit) {
    if (diag_) {
      auto cookie = diag_->find(key);
      if (cookie) {
        auto noted = pins_.cookies().lookup(circuit);
        if (!noted) return std::move(noted).error();
        return *cookie && (!*noted || **noted == **cookie);
      }
      diag_.reset();  // no inet_diag in this kernel
    }
    if (!connections_) {
      SocketTable sockets = SocketTable::of_thread(fs_);
      auto read = read_tcp_connections(sockets, [](std::uint16_t) { return true; });
      if (!read) return std::move(read).error();
      connections_ = std::move(*read);
    }
    return connections_->contains(key);
  }

 private:
  const CaPins& pins_;
  const RootedFs& fs_;
  std::optional<SocketCookies> diag_;
  std::optional<CaFlowKeys> connections_;
};

class TakeOver {
 public:
  TakeOver(const CaTapObject& object, const CaPins& pins, const RootedFs& fs)
      : object_(object), pins_(pins), sockets_(pins, fs) {}

  Result<CaTakenOver> run() {
    if (auto ok = read(); !ok) return ok.error();
    if (auto ok = keep_circuits(); !ok) return ok.error();
    keep_channels();
    if (auto ok = keep_keys(); !ok) return ok.error();
    if (auto ok = keep_infos(); !ok) return ok.error();
    if (auto ok = keep_cookies(); !ok) return ok.error();
    return taken_;
  }

 private:
  Result<void> read();
  void begin_anew(iocx_ca_flow& flow) const;
  Result<void> keep_circuits();
  void keep_channels();
  Result<void> keep_keys();
  Result<void> keep_infos();
  Result<void> keep_cookies();
  bool is_slot_of(std::uint32_t slot, std::uint64_t circuit) const {
    return slot < object_.max_channels() && object_.channels()[slot].state != IOCX_CA_SLOT_FREE &&
           object_.channels()[slot].circuit == circuit;
  }

  const CaTapObject& object_;
  const CaPins& pins_;
  Sockets sockets_;
  CaTakenOver taken_;
  std::vector<std::pair<iocx_ca_flow_key, iocx_ca_flow>> flows_;
  struct Info {
    bool is_named;
    std::uint32_t address;  // as in ca_shares
  };
  std::unordered_map<std::uint64_t, Info> infos_;                   // by channel
  std::unordered_map<std::uint64_t, iocx_ca_identity> identities_;  // by circuit
  std::unordered_set<std::uint64_t> circuits_;                      // that stay
  std::unordered_set<std::uint64_t> used_infos_;
};

Result<void> TakeOver::read() {
  auto ok = object_.maps().flows.for_each(
      [this](const auto& key, const auto& flow) { flows_.emplace_back(key, flow); });
  if (!ok) return ok;
  return object_.maps().channel_info.for_each([this](std::uint64_t channel, const auto& info) {
    infos_.insert({channel, {info.name[0] != 0, info.address}});
    if (info.identity.user[0] == 0 && info.identity.host[0] == 0) return;
    identities_.try_emplace(info.circuit, info.identity);
  });
}

// As if it had been joined on its way.
void TakeOver::begin_anew(iocx_ca_flow& flow) const {
  flow.ioc = IOCX_CA_IOC_TO_COME;
  if (!flow.joined && flow.channels > 0) flow.said = flow.taken;
  flow.joined = 1;
  flow.since_ns = clock_ns(CLOCK_MONOTONIC);
  flow.cleared = 0;
  std::fill(std::begin(flow.counts), std::end(flow.counts), 0);
  std::fill(std::begin(flow.directions), std::end(flow.directions), iocx_ca_direction{});
  const auto identity = identities_.find(flow.circuit);
  if (flow.said.user[0] == 0 && flow.said.host[0] == 0 && identity != identities_.end())
    flow.said = identity->second;
  flow.unnamed = 0;
  flow.unnamed_slot = IOCX_CA_NO_SLOT;
}

Result<void> TakeOver::keep_circuits() {
  for (auto& [key, flow] : flows_) {
    bool stays = false;
    std::optional<std::uint64_t> cookie;
    if (!flow.ended && key.net == 0) {
      auto has_socket = sockets_.has(key, flow.circuit);
      if (!has_socket) return std::move(has_socket).error();
      stays = *has_socket;
    } else if (!flow.ended) {
      auto noted = pins_.cookies().lookup(flow.circuit);
      if (!noted) return std::move(noted).error();
      cookie = *noted;
      stays = cookie.has_value();
    }
    if (!stays || cookie)
      if (auto erased = object_.maps().flows.erase(key); !erased) return std::move(erased).error();
    if (!stays) {
      if (!flow.ended) ++taken_.circuits_ended;
      continue;
    }
    begin_anew(flow);
    circuits_.insert(flow.circuit);
    ++taken_.circuits;
    if (cookie) {
      taken_.elsewhere.push_back({key, flow, *cookie});
      continue;
    }
    if (auto ok = object_.maps().flows.update(key, flow); !ok) return ok;
    object_.add_share(IOCX_CA_SHARE_CIRCUITS, 0, flow.address);
  }
  return {};
}

void TakeOver::keep_channels() {
  for (std::uint32_t slot = 0; slot < object_.max_channels(); ++slot) {
    iocx_ca_channel& channel = object_.channels()[slot];
    const auto info = infos_.find(channel.channel);
    const bool is_open =
        channel.state == IOCX_CA_SLOT_LIVE || channel.state == IOCX_CA_SLOT_UNNAMED;
    if (!is_open || !circuits_.contains(channel.circuit) || info == infos_.end()) {
      channel = {};
      continue;
    }
    channel.puts[0] = channel.puts[1] = channel.last_put = 0;
    object_.add_share(IOCX_CA_SHARE_CHANNELS, channel.circuit, info->second.address);
    used_infos_.insert(channel.channel);
    if (info->second.is_named) ++taken_.channels;
  }
}

Result<void> TakeOver::keep_keys() {
  std::vector<iocx_ca_channel_key> sids, cids;
  auto ok = object_.maps().sids.for_each([&](const auto& key, std::uint32_t slot) {
    if (!is_slot_of(slot, key.circuit) || object_.channels()[slot].sid != key.id)
      sids.push_back(key);
  });
  if (!ok) return ok;
  ok = object_.maps().cids.for_each([&](const auto& key, const iocx_ca_cid& value) {
    const bool waits = value.slot == IOCX_CA_NO_SLOT && circuits_.contains(key.circuit) &&
                       infos_.contains(value.channel);
    if (waits) {
      used_infos_.insert(value.channel);
      object_.add_share(IOCX_CA_SHARE_REQUESTS, key.circuit, infos_.at(value.channel).address);
    }
    if (!waits && (!is_slot_of(value.slot, key.circuit) ||
                   object_.channels()[value.slot].channel != value.channel))
      cids.push_back(key);
  });
  if (!ok) return ok;
  for (const auto& key : sids)
    if (auto erased = object_.maps().sids.erase(key); !erased) return std::move(erased).error();
  for (const auto& key : cids)
    if (auto erased = object_.maps().cids.erase(key); !erased) return std::move(erased).error();
  return {};
}

Result<void> TakeOver::keep_infos() {
  for (const auto& [channel, info] : infos_)
    if (!used_infos_.contains(channel))
      if (auto erased = object_.maps().channel_info.erase(channel); !erased)
        return std::move(erased).error();
  return {};
}

Result<void> TakeOver::keep_cookies() {
  auto circuits = pins_.cookies().keys();
  if (!circuits) return std::move(circuits).error();
  for (const std::uint64_t circuit : *circuits)
    if (!circuits_.contains(circuit))
      if (auto erased = pins_.cookies().erase(circuit); !erased) return std::move(erased).error();
  return {};
}

}  // namespace

Result<CaTakenOver> take_over(const CaTapObject& object, const CaPins& pins, const RootedFs& fs) {
  auto taken = TakeOver(object, pins, fs).run();
  if (!taken) return taken;
  if (auto ok = object.free_slots(); !ok) return ok.error();
  return taken;
}

std::string describe(const CaTakenOver& taken, std::uint64_t last_alive_ns, std::uint64_t now_ns) {
  char gap[48] = "";
  if (last_alive_ns != 0 && now_ns >= last_alive_ns)
    std::snprintf(gap, sizeof gap, "; puts of the last %.1f s were not counted",
                  static_cast<double>(now_ns - last_alive_ns) / 1e9);
  return "took over " + std::to_string(taken.circuits) + " circuits with " +
         std::to_string(taken.channels) + " named channels from an earlier run; " +
         std::to_string(taken.circuits_ended) + " circuits had ended meanwhile" + gap;
}

Result<CaTapObject> load_kept_tables(const CaTapOptions& options, CaKeptTables& kept) {
  if (options.pin_directory.empty())
    return CaTapObject::load(options.sizes, options.lock, options.remote_servers, nullptr,
                             options.ring);
  auto pins = CaPins::open(options.pin_directory);
  std::optional<Error> trouble;
  if (pins) {
    auto object = CaTapObject::load(options.sizes, options.lock, options.remote_servers, &*pins,
                                    options.ring);
    if (object && !pins->adopted()) {
      kept.report = "the channel table is kept in " + options.pin_directory;
      if (!pins->why_anew().empty())
        kept.report += "; that of an earlier run was dropped: " + pins->why_anew();
    } else if (object) {
      auto taken = take_over(*object, *pins, options.fs);
      if (taken) {
        kept.elsewhere = std::move(taken->elsewhere);
        kept.report = describe(*taken, pins->last_alive_ns(), clock_ns(CLOCK_BOOTTIME));
      } else {
        trouble = taken.error();
      }
    } else {
      trouble = object.error();
    }
    if (!trouble) {
      kept.pins = std::make_unique<CaPins>(std::move(*pins));
      return object;
    }
  } else {
    trouble = pins.error();
  }
  kept.report = "the channel table is not kept over a restart: " + trouble->message();
  return CaTapObject::load(options.sizes, options.lock, options.remote_servers, nullptr,
                           options.ring);
}

}  // namespace ioc_exporter::ca
