#include "puts/inventory/server_reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "iocs/memory/memory.h"
#include "puts/inventory/channel_facts.h"
#include "puts/inventory/server_walk.h"
#include "shared/ca_parser.h"

namespace ioc_exporter::puts {
namespace {

constexpr int kAttempts = 3;
constexpr std::uint16_t kIpV4 = 2;  // AF_INET

CaPeer peer_of(const layout::RsrvClient& raw) {
  CaPeer peer;
  peer.address[10] = peer.address[11] = 0xFF;
  std::ranges::copy(raw.address, peer.address.begin() + 12);
  peer.port = static_cast<std::uint16_t>(raw.port[0] << 8 | raw.port[1]);
  return peer;
}

// Facts that must stay the same for a client to be the same.
bool same_client(const layout::RsrvClient& a, const layout::RsrvClient& b) {
  return peer_of(a) == peer_of(b) && a.user == b.user && a.host == b.host;
}

// Monitors and access rights may change at any time.
bool same_channel(const ChannelFacts& a, const ChannelFacts& b) {
  return a.entry == b.entry && a.client == b.client && a.cid == b.cid && a.name == b.name;
}

// One reading: a pass for everything, then one that checks what is still there.
class Pass {
 public:
  Pass(iocs::Memory& memory, std::uint64_t bucket, std::uint64_t client_queue, const CaPeers& peers)
      : memory_(memory), bucket_(bucket), client_queue_(client_queue), peers_(peers) {}

  Result<CaServerTables> run() {
    iocs::CachedMemory cache(memory_);
    if (auto done = read_clients(cache); !done) return done.error();
    auto hash = read_channel_hash(cache, bucket_);
    if (!hash) return std::move(hash).error();
    const std::span<const ChannelEntry> entries = hash->entries;
    if (entries.empty() && hash->in_use != 0) return error_in_words(hash->torn);
    std::vector<ChannelFacts> facts;
    ChannelLayout layout{};
    if (!entries.empty()) {
      const auto found = layout_of(cache, entries);
      if (!found) return error_in_words("channels: they are laid out in no way that is known");
      layout = *found;
      facts = read_channel_facts(cache, layout, entries);
    }
    if (auto done = look_again(layout, facts); !done) return done.error();
    return tables(std::max<std::uint64_t>(hash->in_use, entries.size()), std::move(facts));
  }

 private:
  struct Client {
    layout::RsrvClient raw{};
    bool is_peer = false;
    CaServerClient out;
  };

  Result<void> read_clients(iocs::Memory& memory) {
    auto nodes = read_client_queue(memory, client_queue_);
    if (!nodes) return std::move(nodes).error();
    std::size_t strangers = 0;
    for (const ClientNode& node : *nodes) {
      Client& client = clients_[node.address];
      client.raw = node.raw;
      client.out.peer = peer_of(node.raw);
      client.is_peer = node.raw.family == kIpV4 && peers_.contains(client.out.peer);
      if (!client.is_peer && ++strangers == nodes->size())
        return error_in_words("list of clients: none of them is the peer of a socket");
      if (!client.is_peer) continue;
      client.out.user = identity(memory, node.raw.user);
      client.out.host = identity(memory, node.raw.host);
    }
    return {};
  }

  // Null before the client has said it, and it may be swapped in this moment: then the client is
  // not the same any more when it is looked at again.
  static std::string identity(iocs::Memory& memory, std::uint64_t address) {
    if (address == 0) return {};
    auto text = read_text(memory, address, IOCX_CA_IDENTITY);
    return text ? std::move(*text) : std::string();
  }

  // Drops what has changed meanwhile: clients from the list, names from channels. All that is said
  // of a channel must be the same twice: blocks of memory were read at different moments, so that
  // the first look may have seen one half of it as it is and the other as what was there before.
  Result<void> look_again(ChannelLayout layout, std::vector<ChannelFacts>& facts) {
    iocs::CachedMemory now(memory_);
    auto nodes = read_client_queue(now, client_queue_);
    if (!nodes) return std::move(nodes).error();
    std::map<std::uint64_t, Client> still;
    for (const ClientNode& node : *nodes) {
      const auto before = clients_.find(node.address);
      if (before == clients_.end() || !same_client(before->second.raw, node.raw)) continue;
      before->second.out.flow_controlled = read_flow_control(now, node);
      still.insert(clients_.extract(before));
    }
    clients_left_out_ = static_cast<std::uint64_t>(
        std::ranges::count_if(clients_, [](const auto& entry) { return entry.second.is_peer; }));
    clients_ = std::move(still);
    auto hash = read_channel_hash(now, bucket_);
    if (!hash) return std::move(hash).error();
    std::erase_if(facts, [&hash](const ChannelFacts& channel) {
      return !std::ranges::binary_search(hash->entries, channel.entry);
    });
    std::vector<ChannelEntry> entries;
    for (const ChannelFacts& channel : facts) entries.push_back(channel.entry);
    std::vector<ChannelFacts> again = read_channel_facts(now, layout, entries);
    for (std::size_t i = 0; i < facts.size(); ++i)
      if (!same_channel(facts[i], again[i])) again[i].name.clear();
    facts = std::move(again);
    return {};
  }

  CaServerTables tables(std::uint64_t there, std::vector<ChannelFacts> facts) {
    CaServerTables tables;
    std::uint64_t strangers = 0;
    for (ChannelFacts& channel : facts) {
      const auto client = clients_.find(channel.client);
      if (channel.name.empty() || client == clients_.end()) continue;
      if (!client->second.is_peer) {
        ++strangers;
        continue;
      }
      client->second.out.channels.push_back(
          {channel.entry.sid, std::move(channel.name), channel.monitors, channel.access});
      ++tables.channels;
    }
    tables.left_out = there - tables.channels - strangers;
    tables.clients_left_out = clients_left_out_;
    for (auto& [address, client] : clients_)
      if (client.is_peer) tables.clients.push_back(std::move(client.out));
    return tables;
  }

  iocs::Memory& memory_;
  std::uint64_t bucket_;
  std::uint64_t client_queue_;
  const CaPeers& peers_;
  std::map<std::uint64_t, Client> clients_;  // by address
  std::uint64_t clients_left_out_ = 0;
};

Result<CaServerTables> read_at(iocs::Memory& memory, std::uint64_t bucket,
                               std::uint64_t client_queue, const CaPeers& peers) {
  std::optional<CaServerTables> best;
  std::optional<Error> failed;
  for (int attempt = 0; attempt < kAttempts && (!best || !best->is_whole()); ++attempt) {
    auto tables = Pass(memory, bucket, client_queue, peers).run();
    if (!tables)
      failed = std::move(tables).error();
    else if (!best || tables->left_out < best->left_out || tables->is_whole())
      best = std::move(*tables);
  }
  if (!best) return std::move(*failed);
  if (best->channels == 0 && best->left_out != 0)
    return error_in_words("none of its " + std::to_string(best->left_out) +
                          " channels could be read");
  return std::move(*best);
}

}  // namespace

Result<CaServerTables> read_ca_server(iocs::Memory& memory,
                                      std::span<const iocs::CaServerSymbols> symbols,
                                      const CaPeers& peers, std::string_view subject) {
  const std::string what = "read the CA server's tables of " + std::string(subject);
  if (symbols.empty())
    return error_in_words(what + ": no symbols pCaBucket and clientQ were found");
  std::optional<Error> failed;
  for (const iocs::CaServerSymbols& at : symbols) {
    const auto bucket = memory.value<std::uint64_t>(at.ca_bucket);
    if (bucket && *bucket == 0) continue;  // not set up
    Result<CaServerTables> tables = CaServerTables{};
    if (!bucket)
      tables = bucket.error();
    else if (!iocs::is_pointer(*bucket))
      tables = error_in_words("pCaBucket is " + iocs::hex_address(*bucket) + ", no pointer");
    else
      tables = read_at(memory, *bucket, at.client_queue, peers);
    if (tables) return tables;
    if (!failed) failed = error_in_words(what + ": " + tables.error().message());
  }
  if (failed) return std::move(*failed);
  return CaServerTables{};
}

}  // namespace ioc_exporter::puts
