// Circuits of raw segments in a network namespace of the test's own, and what the tap has counted
// of them.
#pragma once

#include <unistd.h>

#include <utility>

#include "bpf/ca_tap_fixture.h"
#include "bpf/raw_circuit.h"

namespace ioc_exporter::testing {

inline constexpr auto kForth = RawCircuit::to_server;
inline constexpr auto kBack = RawCircuit::to_client;

class CaTapStreamTest : public CaTapTest {
 protected:
  void SetUp() override {
    if (::geteuid() == 0 && !namespace_.emplace().why_not().empty())
      GTEST_SKIP() << namespace_->why_not();
    CaTapTest::SetUp();
  }
  void TearDown() override {
    tap_.reset();  // its socket is of the namespace
    namespace_.reset();
  }

  // The circuit's first messages, up to two channels A = 100 and B = 101. What follows in the
  // stream to the server is at offset forth_.
  void open(RawCircuit& circuit) {
    const Bytes request =
        version() + host_name("h") + client_name("u") + create(0, "A") + create(1, "B");
    const Bytes answer = version() + created(0, 100) + created(1, 101);
    circuit.begin();
    circuit.segment(kForth, 0, request);
    circuit.segment(kBack, 0, answer);
    forth_ = request.size();
    circuit.set_sent(kForth, forth_);
    back_ = answer.size();
    circuit.set_sent(kBack, back_);
  }
  // A stream to the server whose first bytes are not of interest any more.
  Bytes stream(const Bytes& messages) const { return Bytes(forth_, 0) + messages; }

  // How many; nothing else is among the drops.
  std::uint64_t holes_filled() {
    auto drops = all_drops();
    const std::uint64_t filled = std::exchange(drops[IOCX_CA_DROP_HOLE_FILLED], 0);
    EXPECT_THAT(drops, ::testing::Each(0u));
    return filled;
  }
  std::uint64_t pages(puts::Tap::Clock::time_point now = puts::Tap::Clock::now()) {
    auto reaped = tap_->reap(now);
    EXPECT_TRUE(reaped) << reaped.error().message();
    return entries("ca_pages");
  }
  std::uint16_t port() const { return listener_.port(); }

  std::optional<OwnNamespace> namespace_;
  std::size_t forth_ = 0, back_ = 0;
};

}  // namespace ioc_exporter::testing
