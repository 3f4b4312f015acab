#include "puts/tap/kept_channels.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/log.h"
#include "base/state_bytes.h"
#include "puts/tap/tap.h"

namespace ioc_exporter::ca {
namespace {

constexpr std::string_view kTitle = "ioc_exporter: names of open channels, format 2\n";
constexpr std::size_t kLongestBoot = 64;
// Without their texts.
constexpr std::size_t kChannelBytes = 5 * sizeof(std::uint32_t);
constexpr std::size_t kCircuitBytes =
    2 * sizeof(std::uint64_t) + sizeof(iocx_ca_flow_key) + 3 * sizeof(std::uint32_t);

std::size_t bytes_of(const CaSeedCircuit& circuit) {
  std::size_t size = kCircuitBytes + circuit.user.size() + circuit.host.size();
  for (const CaSeedChannel& channel : circuit.channels) size += kChannelBytes + channel.name.size();
  return size;
}

// As the kernel's tables have them.
bool take_name(StateReader& from, std::string& into, std::size_t room) {
  return from.take_text(into, room - 1) && into.find('\0') == std::string::npos;
}

bool take_channel(StateReader& from, CaSeedChannel& channel) {
  return from.take(channel.cid) && from.take(channel.sid) && from.take(channel.monitors) &&
         from.take(channel.access) && channel.access <= IOCX_CA_ACCESS_UNKNOWN &&
         take_name(from, channel.name, IOCX_CA_NAME) && !channel.name.empty();
}

bool take_circuit(StateReader& from, CaKeptCircuit& kept) {
  CaSeedCircuit& circuit = kept.circuit;
  std::uint32_t count = 0;
  if (!from.take(kept.net_inode) || !from.take(kept.cookie) || !from.take(circuit.key) ||
      !take_name(from, circuit.user, IOCX_CA_IDENTITY) ||
      !take_name(from, circuit.host, IOCX_CA_IDENTITY) || !from.take_count(count, kChannelBytes))
    return false;
  circuit.channels.resize(count);
  return std::ranges::all_of(circuit.channels,
                             [&from](CaSeedChannel& each) { return take_channel(from, each); });
}

// What is open, but to IOCs of `without`.
Result<CaKeptCircuits> open_circuits(CaTap& tap, const ChannelsKeeper::Telling& without) {
  // Before the circuits: one that uses the addresses and ports of another again since then has the
  // cookie of a socket that is gone.
  const auto sockets = tap.circuits().sockets();
  if (!sockets) return sockets.error();
  CaKeptCircuits all;
  std::unordered_map<std::uint64_t, std::size_t> places;
  auto read = tap.object().maps().flows.for_each([&](const auto& key, const iocx_ca_flow& flow) {
    const auto ioc = tap.circuits().ioc_of(flow.circuit, flow.ioc);
    const auto socket = sockets->find(key);
    if (flow.ended || !ioc || without.contains(*ioc) || socket == sockets->end() ||
        socket->second == 0)
      return;
    places.emplace(flow.circuit, all.size());
    all.push_back({tap.namespaces().inode(key.net), socket->second, {key, {}, {}, {}}});
  });
  if (!read) return read.error();
  tap.channels().for_each_named([&](const iocx_ca_channel& channel, const CaPutLabels& labels) {
    const auto place = places.find(channel.circuit);
    if (place == places.end()) return;
    CaSeedCircuit& circuit = all[place->second].circuit;
    circuit.user = labels.user;
    circuit.host = labels.host;
    circuit.channels.push_back(
        {channel.cid, channel.sid, labels.pv, channel.monitors, channel.access});
  });
  std::erase_if(all, [](const CaKeptCircuit& one) { return one.circuit.channels.empty(); });
  return all;
}

// Seeds those of `before` whose servers are watched by now, takes them out, and tells how many
// channels got their names. Circuits whose socket is another one, and those to IOCs of `without`,
// get none.
Result<std::uint64_t> restore(CaTap& tap, CaKeptCircuits& before,
                              const ChannelsKeeper::Telling& without,
                              ChannelsKeeper::Clock::time_point now) {
  // The number of the IOC; the circuit's namespace has the number that it has now.
  const auto ioc_of = [&tap](CaKeptCircuit& one) -> std::optional<std::uint32_t> {
    const auto net = tap.namespaces().number(one.net_inode);
    if (!net) return std::nullopt;
    one.circuit.key.net = *net;
    return tap.servers().ioc_of(one.circuit.key);
  };
  const auto found =
      std::partition(before.begin(), before.end(), [&](auto& one) { return !ioc_of(one); });
  if (found == before.end()) return std::uint64_t{0};
  const auto sockets = tap.circuits().sockets();
  if (!sockets) return sockets.error();
  std::map<std::uint32_t, CaSeed> seeds;
  for (auto at = found; at != before.end(); ++at) {
    CaKeptCircuit& one = *at;
    const std::uint32_t ioc = *ioc_of(one);
    const auto socket = sockets->find(one.circuit.key);
    if (without.contains(ioc) || socket == sockets->end() || socket->second != one.cookie) continue;
    seeds[ioc].ioc = ioc;
    seeds[ioc].circuits.push_back(std::move(one.circuit));
  }
  before.erase(found, before.end());
  std::uint64_t named = 0;
  for (const auto& [ioc, its] : seeds) {
    const auto result = tap.seed(its, now);
    if (!result) return result.error();
    named += result->channels_added + result->channels_named;
  }
  return named;
}

}  // namespace

std::string to_bytes(std::uint64_t generation, const std::string& boot,
                     const CaKeptCircuits& circuits) {
  constexpr std::size_t kRest = 256;  // title, sum, and what else is there once
  std::size_t size = kRest, count = 0;
  while (count < circuits.size() &&
         (size += bytes_of(circuits[count].circuit)) <= kLargestChannelFile)
    ++count;
  StateWriter bytes(kTitle, generation);
  bytes.put_text(boot);
  bytes.put(static_cast<std::uint32_t>(count));
  for (std::size_t i = 0; i < count; ++i) {
    const CaSeedCircuit& circuit = circuits[i].circuit;
    bytes.put(circuits[i].net_inode);
    bytes.put(circuits[i].cookie);
    bytes.put(circuit.key);
    bytes.put_text(circuit.user);
    bytes.put_text(circuit.host);
    bytes.put(static_cast<std::uint32_t>(circuit.channels.size()));
    for (const CaSeedChannel& channel : circuit.channels) {
      bytes.put(channel.cid);
      bytes.put(channel.sid);
      bytes.put(channel.monitors);
      bytes.put(channel.access);
      bytes.put_text(channel.name);
    }
  }
  return bytes.finish();
}

Result<ReadChannels> channels_from_bytes(std::string_view bytes) {
  auto from = StateReader::open(bytes, kTitle);
  if (!from) return std::move(from).error();
  ReadChannels read;
  read.generation = from->generation();
  std::uint32_t count = 0;
  if (!from->take_text(read.boot, kLongestBoot) || !from->take_count(count, kCircuitBytes))
    return error_in_words("there are fewer circuits than it says");
  read.circuits.resize(count);
  for (CaKeptCircuit& circuit : read.circuits)
    if (!take_circuit(*from, circuit)) return error_in_words("a circuit cannot be");
  if (!from->at_end()) return error_in_words("there is more than it says");
  return read;
}

void ChannelsKeeper::open(const std::string& folder, const std::string& boot,
                          Clock::time_point now) {
  boot_ = boot;
  until_ = now + kPatience;
  auto latest = file_.open<ReadChannels>(folder, kChannelFiles, kLargestChannelFile,
                                         channels_from_bytes, now);
  if (latest.boot == boot) before_ = std::move(latest.circuits);
  kept_ = std::make_shared<const CaKeptCircuits>(before_);
}

Result<void> ChannelsKeeper::look(CaTap& tap, const Telling& telling, Clock::time_point now) {
  if (now >= until_) before_.clear();
  if (!before_.empty()) {
    const auto named = restore(tap, before_, telling, now);
    if (!named) return named.error();
    if (*named > 0) log::info("names of {} channels are known from an earlier run", *named);
  }
  if (!file_.is_due(now)) return {};
  const auto changed = read(tap, telling);
  if (!changed) return changed.error();
  if (*changed) file_.write(encode());
  return {};
}

Result<void> ChannelsKeeper::keep_now(CaTap& tap, const Telling& telling) {
  if (!file_.is_open()) return {};
  const auto changed = read(tap, telling);
  if (!changed) return changed.error();
  if (*changed) file_.write_now(encode());
  return {};
}

// Whether it is to be written.
Result<bool> ChannelsKeeper::read(CaTap& tap, const Telling& telling) {
  auto open = open_circuits(tap, telling);
  if (!open) return std::move(open).error();
  open->insert(open->end(), before_.begin(), before_.end());
  const bool changed = *open != *kept_ || !file_.problem().empty();
  if (changed) kept_ = std::make_shared<const CaKeptCircuits>(std::move(*open));
  return changed;
}

StateKeeper::Encode ChannelsKeeper::encode() const {
  return [kept = kept_, boot = boot_](std::uint64_t generation) {
    return to_bytes(generation, boot, *kept);
  };
}

}  // namespace ioc_exporter::ca
