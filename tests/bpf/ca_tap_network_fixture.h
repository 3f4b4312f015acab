// A started tap in a network namespace of the test's own.
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
  void TearDown() override {
    tap_.reset();
    inside_.reset();
  }
  // From here on the test's thread is in that namespace, with a new tap.
  void enter(const NetNamespace& where, bool remote_servers = false) {
    inside_.emplace(where);
    puts::TapOptions options;
    options.sizes.max_channels = 4096;
    options.lock = lock();
    options.remote_servers = remote_servers;
    tap_.reset();
    tap_ = value_of(puts::Tap::start(std::move(options)));
  }
  static puts::TapServer server_at(std::uint16_t port, std::uint32_t ioc = kIoc,
                                   const char* address = "0.0.0.0", bool remote = false) {
    return {ca_address(address), port, ioc, remote};
  }
  void set_servers(const std::vector<puts::TapServer>& servers) {
    must_succeed(tap_->set_servers(servers));
  }
  void reap() { must_succeed(tap_->reap()); }
  static iocx_ca_address ca_address(const std::string& text) {
    iocx_ca_address address{};
    EXPECT_EQ(::inet_pton(AF_INET, text.c_str(), address.bytes), 1) << text;
    return address;
  }

  std::optional<InNamespace> inside_;
};

}  // namespace ioc_exporter::testing
