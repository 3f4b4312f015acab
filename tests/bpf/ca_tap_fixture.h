// A started tap and what it has counted, for tests on loopback and in namespaces.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bpf/ca_conversation.h"
#include "kernel/map.h"
#include "puts/tap/tap.h"
#include "support/value_of.h"

namespace ioc_exporter::testing {

inline constexpr std::uint32_t kIoc = 7;

class CaTapTest : public ::testing::Test {
 protected:
  // The lock that this kernel has; the other one is what 5.10 takes, in the virtual machine.
  virtual puts::TapLock lock() const { return puts::TapLock::choose; }
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root: loads BPF programs, opens a packet socket";
    start({});
  }
  void start(puts::TapSizes sizes, const std::string& root = "/") {
    start_blind(sizes, root);
    if (tap_) watch(listener_);
  }
  // Nothing is watched yet.
  void start_blind(puts::TapSizes sizes, const std::string& root = "/") {
    sizes.max_channels = std::min(sizes.max_channels, 4096u);
    puts::TapOptions options;
    options.fs = RootedFs(root);
    options.sizes = sizes;
    options.lock = lock();
    options.totals = totals_ = std::make_shared<puts::Totals>(puts::kPutSeries);
    tap_.reset();
    auto tap = puts::Tap::start(std::move(options));
    ASSERT_TRUE(tap) << tap.error().message();
    tap_ = std::move(*tap);
  }
  void watch(const Listener& listener, std::uint32_t ioc = kIoc,
             puts::Protocol protocol = puts::Protocol::ca) {
    puts::TapServer server;
    server.port = listener.port();
    server.ioc = ioc;
    server.protocol = protocol;
    auto ok = tap_->set_servers({server});
    ASSERT_TRUE(ok) << ok.error().message();
  }

  std::uint64_t puts(const std::string& pv, PutOp op = PutOp::write, const std::string& user = "") {
    std::uint64_t sum = 0;
    for (const auto& one : collect().puts)
      if (one.labels.pv == pv && one.op == op && (user.empty() || one.labels.user == user))
        sum += one.count;
    return sum;
  }
  std::uint64_t puts_of(std::uint32_t ioc, const std::string& pv) {
    std::uint64_t sum = 0;
    for (const auto& one : collect().puts)
      if (one.labels.ioc == ioc && one.labels.pv == pv) sum += one.count;
    return sum;
  }
  std::uint64_t all_puts() {
    std::uint64_t sum = 0;
    for (const auto& one : collect().puts) sum += one.count;
    return sum;
  }
  std::vector<std::uint64_t> all_drops() {
    return value_of(kernel::sum_per_cpu_counters(tap_->object().maps().drops, IOCX_CA_DROPS));
  }
  std::uint64_t drop(iocx_ca_drop cause) { return all_drops()[cause]; }
  std::uint64_t entries(const std::string& map) {
    for (const auto& one : collect().maps)
      if (one.map == map) return one.entries;
    ADD_FAILURE() << "no map " << map;
    return 0;
  }
  void expect_nothing_lost() {
    EXPECT_THAT(all_drops(), ::testing::Each(0u));
    for (const auto& [reason, count] : collect().drops) EXPECT_EQ(count, 0u) << reason.second;
  }
  // Twice, with the time that lets everything go that has ended.
  void reap_all() {
    const auto later = puts::Tap::Clock::now() + std::chrono::hours(1) * ++reaps_;
    for (const auto now : {later, later + std::chrono::minutes(2)}) {
      auto ok = tap_->reap(now);
      ASSERT_TRUE(ok) << ok.error().message();
    }
  }
  puts::TapReading collect(puts::Tap::Clock::time_point now = puts::Tap::Clock::now()) {
    auto reading = tap_->collect(now);
    EXPECT_TRUE(reading) << reading.error().message();
    return reading ? std::move(*reading) : puts::TapReading{};
  }

  Listener listener_;
  std::shared_ptr<puts::Totals> totals_;
  std::unique_ptr<puts::Tap> tap_;
  int reaps_ = 0;
};

}  // namespace ioc_exporter::testing
