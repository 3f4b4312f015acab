#include "puts/tap/kept_channels.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/state_bytes.h"
#include "puts/tap/tap.h"

namespace ioc_exporter::ca {
namespace {

constexpr std::string_view kTitle = "ioc_exporter: names of open channels, format 1\n";
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
    const auto named = tap.restore(before_, telling, now);
    if (!named) return named.error();
    if (*named > 0) log::info("names of {} channels are known from an earlier run", *named);
  }
  if (!file_.is_due(now)) return {};
  const auto changed = read(tap, telling);
  if (!changed) return changed.error();
  if (*changed) file_.write(encode());
  return {};
}

Result<void> ChannelsKeeper::keep_now(const CaTap& tap, const Telling& telling) {
  if (!file_.is_open()) return {};
  const auto changed = read(tap, telling);
  if (!changed) return changed.error();
  if (*changed) file_.write_now(encode());
  return {};
}

// Whether it is to be written.
Result<bool> ChannelsKeeper::read(const CaTap& tap, const Telling& telling) {
  auto open = tap.open_circuits(telling);
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
