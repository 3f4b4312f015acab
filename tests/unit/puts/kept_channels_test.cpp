// Names of open channels as they are kept: read as they were written, and nothing believed that
// cannot be.
#include "puts/tap/kept_channels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/state_bytes.h"
#include "puts/tap/connections.h"

namespace ioc_exporter::ca {
namespace {

CaKeptCircuits sample() {
  CaSeedCircuit circuit;
  circuit.key.client = iocx_ca_address{{10, 0, 0, 7}};
  circuit.key.server = iocx_ca_address{{10, 0, 0, 1}};
  circuit.key.client_port = 40'000;
  circuit.key.server_port = 5064;
  circuit.user = "anna";
  circuit.host = "console";
  circuit.channels = {{3, 100, "S:a", 2, IOCX_CA_ACCESS_READ_WRITE},
                      {4, 101, std::string(IOCX_CA_NAME - 1, 'x'), 0, IOCX_CA_ACCESS_READ}};
  CaSeedCircuit other = circuit;
  other.key.client_port = 40'001;
  other.user.clear();
  other.channels = {{0, 0, "b", 0, IOCX_CA_ACCESS_UNKNOWN}};
  return {{4026531840u, 17, circuit}, {4026532000u, 1ull << 40, other}};
}

std::string with_sum(std::string bytes) {
  bytes.resize(bytes.size() - sizeof(std::uint64_t));
  const std::uint64_t sum = fnv1a(bytes);
  return bytes.append(reinterpret_cast<const char*>(&sum), sizeof sum);
}

TEST(KeptChannels, AreReadAsTheyWereWritten) {
  const auto read = channels_from_bytes(to_bytes(7, "boot", sample()));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->generation, 7u);
  EXPECT_EQ(read->boot, "boot");
  EXPECT_EQ(read->circuits, sample());
}

TEST(KeptChannels, ABrokenFileIsNotBelieved) {
  const std::string whole = to_bytes(7, "boot", sample());
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(channels_from_bytes(whole.substr(0, length))) << length;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string other = whole;
    other[at] = static_cast<char>(other[at] ^ 0x10);
    EXPECT_FALSE(channels_from_bytes(other)) << at;
  }
  EXPECT_FALSE(channels_from_bytes(whole + "x"));
  EXPECT_FALSE(channels_from_bytes(with_sum(whole + "x")));
}

// With a sum that is right: whatever stands there, it ends, and takes no more than the file has.
TEST(KeptChannels, NumbersOfAForgerAreBounded) {
  const std::string whole = to_bytes(7, "boot", sample());
  for (std::size_t at = 47; at + 12 <= whole.size(); ++at)
    for (const std::uint32_t number : {0u, 0x7fffffffu, 0xffffffffu, 500'000u}) {
      std::string other = whole;
      std::memcpy(other.data() + at, &number, sizeof number);
      const auto read = channels_from_bytes(with_sum(other));
      if (!read) continue;
      EXPECT_LE(read->circuits.size(), 2u);
      for (const CaKeptCircuit& one : read->circuits) EXPECT_LE(one.circuit.channels.size(), 2u);
    }
}

TEST(KeptChannels, InvalidEntriesAreRefused) {
  const auto refused = [](const std::function<void(CaSeedCircuit&)>& change) {
    CaKeptCircuits circuits = sample();
    change(circuits[0].circuit);
    return !channels_from_bytes(to_bytes(7, "boot", circuits));
  };
  const auto zero = std::string("a\0b", 3);
  EXPECT_FALSE(refused([](CaSeedCircuit&) {}));
  EXPECT_TRUE(refused([](CaSeedCircuit& one) { one.channels[0].access = 5; }));
  EXPECT_TRUE(refused([](CaSeedCircuit& one) { one.channels[0].name.clear(); }));
  EXPECT_TRUE(refused([&](CaSeedCircuit& one) { one.channels[0].name = zero; }));
  EXPECT_TRUE(refused([](CaSeedCircuit& one) { one.channels[1].name += "x"; }));
  EXPECT_TRUE(refused([&](CaSeedCircuit& one) { one.user = zero; }));
  EXPECT_TRUE(refused([](CaSeedCircuit& one) { one.host.assign(IOCX_CA_IDENTITY, 'h'); }));
}

// Whole circuits, as many as have room.
TEST(KeptChannels, TheFileIsBounded) {
  CaKeptCircuits many = sample();
  CaSeedCircuit& circuit = many[0].circuit;
  circuit.channels.resize(1000, circuit.channels[1]);
  for (int i = 0; i < 200; ++i) many.push_back(many[0]);
  const std::string bytes = to_bytes(7, "boot", many);
  EXPECT_LE(bytes.size(), kLargestChannelFile);
  EXPECT_GT(bytes.size(), kLargestChannelFile - 1000 * (IOCX_CA_NAME + 20));
  const auto read = channels_from_bytes(bytes);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_TRUE(std::equal(read->circuits.begin(), read->circuits.end(), many.begin()));
}

}  // namespace
}  // namespace ioc_exporter::ca
