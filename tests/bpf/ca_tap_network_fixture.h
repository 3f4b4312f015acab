// A started tap that looks into network namespaces of the test's own.
#pragma once

#include "bpf/ca_tap_fixture.h"
#include "bpf/test_network.h"
#include "support/value_of.h"

namespace ioc_exporter::testing {

// Of a TestNetwork with addresses.
inline constexpr const char* kClient = "10.7.0.1";
inline constexpr const char* kServer = "10.7.0.2";

class CaTapNetworkTest : public CaTapTest {
 protected:
  void SetUp() override {
    if (::geteuid() == 0 && !has_ip_command()) GTEST_SKIP() << "needs the ip command (iproute2)";
    CaTapTest::SetUp();
  }
  std::uint32_t add(const NetNamespace& where) {
    return value_of(tap_->namespaces().add(where.fd()));
  }
  static ca::CaServer server_at(std::uint32_t net, std::uint16_t port, std::uint32_t ioc = kIoc,
                                const char* address = "0.0.0.0", bool remote = false) {
    ca::CaServer server{ca_address(address), port, ioc, net, remote};
    return server;
  }
  void set_servers(const std::vector<ca::CaServer>& servers) {
    must_succeed(tap_->set_servers(servers));
  }
  void watch_in(std::uint32_t net, const Listener& listener, const char* address = "0.0.0.0") {
    set_servers({server_at(net, listener.port(), kIoc, address)});
  }
  void reap() { must_succeed(tap_->reap()); }
  static iocx_ca_address ca_address(const std::string& text) {
    iocx_ca_address address{};
    EXPECT_EQ(::inet_pton(AF_INET, text.c_str(), address.bytes), 1) << text;
    return address;
  }
};

}  // namespace ioc_exporter::testing
