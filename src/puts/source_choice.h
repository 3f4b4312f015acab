// SourceChoice: which source counts the puts to each server. Pure: no system calls.
//
// Packets count puts to servers that are not probed. Nobody counts puts to a server that will be:
// what packets show of connections that were open before may be an array that looks like puts.
// While an IOC is stopped or traced its probes are off, and packets count.
//
// Packets begin when the probes are off. They end kSettle before the probes are on again, so that
// what they have counted is served by then, where the server has read ahead no more than it does
// in that time: else it counts the remainder once more. Puts between are in neither count.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "puts/server_key.h"

namespace ioc_exporter::puts {

class SourceChoice {
 public:
  enum class Source : std::uint8_t { packets, server, nobody };
  static constexpr std::chrono::nanoseconds kSettle = std::chrono::seconds(1);
  // Time in which packets count, CLOCK_MONOTONIC; the last one.
  struct Window {
    std::uint64_t from_ns = 0, until_ns = UINT64_MAX;
  };

  // Until ServerProbe::expect() decides, packets count: without server probes always.
  Source source(const ServerKey& server) const { return of(server).source; }
  bool by_packets(const ServerKey& server) const { return source(server) == Source::packets; }
  // The same of results of puts.
  bool results_by_packets(const ServerKey& server) const;
  Window packets(const ServerKey& server) const { return of(server).packets; }
  // Since when all puts to the server are counted, CLOCK_MONOTONIC; 0: for as long as packets are
  // read; nothing: they are not counted now.
  std::optional<std::uint64_t> counted_since(const ServerKey& server) const;
  // What packets have counted is served.
  bool is_settled(const ServerKey& server, std::uint64_t now_ns) const;

  void begin_packets(const ServerKey& server, std::uint64_t now_ns);
  void begin_nobody(const ServerKey& server, std::uint64_t now_ns);
  // `results`: the server reports the results of puts, too. Else packets do.
  void begin_server(const ServerKey& server, bool results, std::uint64_t now_ns);

  // Switches between server and packets, and times that packets began again after nobody, of IOCs
  // whose server was to be probed.
  std::map<ServerKey, std::uint64_t> switches() const;
  void forget(const ServerKey& server) { all_.erase(server); }

 private:
  struct One {
    Source source = Source::packets;
    Window packets = {};
    std::uint64_t server_from_ns = 0;
    bool results = false;
    bool was_probed = false;       // or was to be
    Source last = Source::nobody;  // that has counted
    std::uint64_t switches = 0;
  };

  One of(const ServerKey& server) const;
  static void begin(One& one, Source source);

  std::map<ServerKey, One> all_;
};

}  // namespace ioc_exporter::puts
