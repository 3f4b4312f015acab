// A tap and a reader of datagrams in a network namespace of their own.
#pragma once

#include <unistd.h>

#include "bpf/ca_conversation.h"
#include "bpf/net_namespaces.h"
#include "puts/searches/udp.h"
#include "puts/tap/tap.h"
#include "support/value_of.h"

namespace ioc_exporter::testing {

inline constexpr std::uint16_t kCaPort = 5064, kBeaconPort = 5065;
inline constexpr std::uint32_t kWatchedIoc = 7;

inline Bytes search(std::uint32_t cid, const std::string& name) {
  return message(6, 5, 13, cid, cid, text(name));
}
inline Bytes answer(std::uint32_t cid, std::uint16_t port, std::uint32_t address = 0xFFFFFFFF) {
  return message(6, port, 0, address, cid, Bytes{0, 13});
}
inline Bytes beacon(std::uint32_t number, std::uint16_t port, std::uint32_t address = 0) {
  return message(13, 13, port, number, address);
}

class CaUdpTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root: loads BPF programs, opens a packet socket";
    if (std::system("ip link show lo >/dev/null 2>&1") != 0) GTEST_SKIP() << "needs ip (iproute2)";
    here_.emplace(NetNamespace::enter());
    start({});
  }
  void start(puts::CaUdpOptions options, std::uint32_t max_searches = 16384) {
    udp_.reset();
    puts::TapOptions tap_options;
    tap_options.sizes.max_channels = 1024;
    tap_options.sizes.max_searches = max_searches;
    tap_options.searches = options.searches = searches_;
    tap_ = value_of(puts::Tap::start(std::move(tap_options)));
    udp_.emplace(value_of(puts::CaUdp::start(tap_->object().shared_maps(), options)));
    tap_->servers().set_udp_ports({kCaPort, kBeaconPort});
    watch({});
  }
  // Names the servers, and takes note of this namespace's addresses and devices.
  void watch(const std::vector<puts::TapServer>& servers) {
    must_succeed(tap_->set_servers(servers));
    look();
  }
  void look(std::chrono::seconds later = {}) {
    must_succeed(udp_->look(puts::CaUdp::Clock::now() + later));
  }
  puts::CaUdpReading collect() { return value_of(udp_->collect()); }
  using Counts = std::map<std::string, std::uint64_t>;
  Counts searches() {
    Counts counts;
    for (const auto& one : collect().searches) counts[one.client] = one.requests;
    return counts;
  }
  // "client name" -> requests.
  Counts names() {
    Counts counts;
    for (const auto& one : collect().names) counts[one.client + " " + one.name] = one.requests;
    return counts;
  }
  std::uint64_t drop(iocx_ca_udp_drop cause) {
    return value_of(
        kernel::sum_per_cpu_counters(udp_->object().maps().counters, IOCX_CA_UDP_DROPS))[cause];
  }
  void expect_nothing_lost() {
    for (const auto& [reason, count] : collect().drops) EXPECT_EQ(count, 0u) << reason.second;
  }
  std::uint64_t entries(const std::string& map) {
    for (const auto& one : collect().maps)
      if (one.map == map) return one.entries;
    ADD_FAILURE() << "no map " << map;
    return 0;
  }
  // The kernel's word for a server; nothing while it is not watched.
  std::optional<std::uint32_t> server(const iocx_ca_server& key) {
    auto servers = kernel::MapView<iocx_ca_server, std::uint32_t>::from_fd(
        tap_->object().shared_maps().servers);
    auto ports =
        kernel::MapView<std::uint32_t, std::uint32_t>::from_fd(tap_->object().shared_maps().ports);
    EXPECT_TRUE(servers && ports);
    auto watched = ports->lookup(key.port);
    auto found = servers->lookup(key);
    EXPECT_TRUE(watched && found);
    return *watched ? *found : std::nullopt;
  }
  std::optional<std::uint32_t> local_server(std::uint16_t port) {
    iocx_ca_server key{};
    key.port = port;
    return server(key);
  }

  bool searches_ = true;
  std::optional<NetNamespace> here_;
  std::unique_ptr<puts::Tap> tap_;
  std::optional<puts::CaUdp> udp_;
};

}  // namespace ioc_exporter::testing
