// Names of open channels from one run of the tap to the next.
#include <gtest/gtest.h>

#include <memory>

#include "bpf/ca_tap_fixture.h"
#include "puts/tap/kept_channels.h"
#include "support/value_of.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;
using puts::Tap;

constexpr std::uint32_t kAgain = 11;  // the IOC's number in the next run

class CaTapKeptTest : public CaTapTest {
 protected:
  // The exporter ends and starts again. It has found no server yet.
  void restart(Tap::Clock::duration ago = {}) {
    auto kept = value_of(puts::open_circuits(*tap_, Tap::Clock::now() - ago));
    start_blind({});
    tap_->know(std::move(kept));
  }
  std::uint64_t puts_of_anna(const std::string& pv, const std::string& client = "127.0.0.1") {
    const puts::PutLabels wanted{kAgain, pv, client, "anna", "h1"};
    std::uint64_t sum = 0;
    for (const auto& one : collect().puts)
      if (one.labels == wanted) sum += one.count;
    return sum;
  }
};

TEST_F(CaTapKeptTest, TheSameSocketHasItsNames) {
  Circuit circuit(listener_);
  circuit.open("anna", "h1", {"A", "B", "C", "D"});
  circuit.to_server(repeat(write(100), 23));
  EXPECT_EQ(puts("A"), 23u);
  restart();
  circuit.to_server(repeat(write(100), 1009));  // nobody counts
  watch(listener_, kAgain);
  circuit.to_server(proof(100) + repeat(write(100), 29) + clear(103, 3) + create(9, "NEW"));
  circuit.to_client(created(9, 103));
  circuit.to_server(repeat(write(101), 31) + repeat(write(103), 5));
  EXPECT_EQ(puts_of_anna("A"), 29u);
  EXPECT_EQ(puts_of_anna("B"), 31u);
  EXPECT_EQ(puts_of_anna("D"), 0u);
  EXPECT_EQ(puts_of_anna("NEW"), 5u) << "it was seen to be opened";
  EXPECT_EQ(all_puts(), 65u);
  ASSERT_TRUE(tap_->reap());
  EXPECT_TRUE(tap_->channels().unnamed().empty());
  circuit.abort();
  reap_all();
  EXPECT_EQ(entries("ca_channels"), 0u);
}

TEST_F(CaTapKeptTest, AnotherSocketOfTheSamePortsHasNone) {
  auto before = std::make_unique<Circuit>(listener_);
  before->open("anna", "h1", {"A"});
  const std::uint16_t port = before->client_port();
  restart();
  before->abort();
  Circuit after(listener_, port);
  watch(listener_, kAgain);
  after.to_server(proof(100) + repeat(write(100), 23));
  EXPECT_EQ(puts_of(kAgain, ""), 23u);
  EXPECT_EQ(all_puts(), 23u);
}

TEST_F(CaTapKeptTest, ARunThatDoesNotFindTheServerKeepsThemForTheNext) {
  Circuit circuit(listener_);
  circuit.open("anna", "h1", {"A", "B"});
  for (int run = 0; run < 3; ++run) restart();
  watch(listener_, kAgain);
  circuit.to_server(proof(100) + repeat(write(100), 29));
  EXPECT_EQ(puts_of_anna("A"), 29u);
  restart();
  watch(listener_, kAgain);
  circuit.to_server(proof(100) + repeat(write(101), 31));
  EXPECT_EQ(puts_of_anna("B"), 31u) << "of channels without a put, too";
}

TEST_F(CaTapKeptTest, AfterFiveMinutesTheyAreTooOld) {
  Circuit circuit(listener_);
  circuit.open("anna", "h1", {"A"});
  restart(puts::kKeptFor + std::chrono::seconds(1));
  watch(listener_, kAgain);
  circuit.to_server(proof(100) + repeat(write(100), 31));
  EXPECT_EQ(puts_of(kAgain, ""), 31u) << "channels may have been closed unseen";
}

}  // namespace
