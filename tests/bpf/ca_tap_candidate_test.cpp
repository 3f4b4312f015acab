// Listeners that may or may not speak Channel Access, and what their connections tell.
#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "bpf/ca_tap_network_fixture.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;
using ca::CaTap;

class CaTapCandidateTest : public CaTapNetworkTest {
 protected:
  void SetUp() override {
    CaTapNetworkTest::SetUp();
    if (tap_) set_servers({server_at(0, listener_.port(), ca::kCaCandidate)});
  }
  // By port, as of now.
  std::map<std::uint16_t, bool> verdicts() {
    reap();
    std::map<std::uint16_t, bool> all;
    for (const auto& verdict : tap_->take_verdicts()) {
      EXPECT_EQ(verdict.server.ioc, ca::kCaCandidate);
      all[verdict.server.port] = verdict.speaks_ca;
    }
    return all;
  }
  const std::map<std::uint16_t, bool> yes_{{listener_.port(), true}};
  const std::map<std::uint16_t, bool> no_{{listener_.port(), false}};
  const std::map<std::uint16_t, bool> not_yet_;
};

Bytes characters(const std::string& text) {
  return Bytes(text.begin(), text.end());
}

TEST_P(CaTapCandidateTest, VersionExchangeIsChannelAccess) {
  Circuit circuit(listener_);
  EXPECT_EQ(verdicts(), not_yet_);
  circuit.to_server(version() + host_name("h") + client_name("u") + create(1, "A"));
  EXPECT_EQ(verdicts(), not_yet_);
  circuit.to_client(version() + created(1, 100));
  circuit.to_server(repeat(write(100), 23));
  EXPECT_EQ(all_puts(), 0u);
  EXPECT_EQ(verdicts(), yes_);
  set_servers({server_at(0, listener_.port())});
  EXPECT_EQ(verdicts(), not_yet_);  // it is no candidate any more
  circuit.to_server(write(100));
  EXPECT_EQ(puts_of(kIoc, "A"), 24u);
  expect_nothing_lost();
}

TEST_P(CaTapCandidateTest, OtherClientsAreNot) {
  Circuit circuit(listener_);
  circuit.to_server(characters("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  EXPECT_EQ(verdicts(), no_);
  set_servers({});
  reap_all();
  EXPECT_EQ(entries("ca_circuits"), 0u);
  EXPECT_EQ(entries("ca_servers"), 0u);
  expect_nothing_lost();
}

TEST_P(CaTapCandidateTest, OtherServersAreNot) {
  Circuit circuit(listener_);
  circuit.to_client(characters("SSH-2.0-OpenSSH_9.2p1 Debian\r\n"));
  EXPECT_EQ(verdicts(), no_);
  expect_nothing_lost();
}

// Zeros make a VERSION, but none that anybody sends.
TEST_P(CaTapCandidateTest, ZerosAreNot) {
  Circuit circuit(listener_);
  circuit.to_server(Bytes(64, 0));
  EXPECT_EQ(verdicts(), no_);
  expect_nothing_lost();
}

TEST_P(CaTapCandidateTest, AServerThatDoesNotAnswerIsNot) {
  Circuit circuit(listener_);
  circuit.to_server(version() + create(1, "A"));
  circuit.to_client(characters("what do you mean by that?"));
  EXPECT_EQ(verdicts(), no_);
  expect_nothing_lost();
}

TEST_P(CaTapCandidateTest, OneConnectionThatSpeaksIsEnough) {
  Circuit scanner(listener_), client(listener_);
  scanner.to_server(characters("GET / HTTP/1.0\r\n\r\n"));
  client.to_server(version());
  client.to_client(version());
  EXPECT_EQ(verdicts(), not_yet_);  // a forwarder may pass it on, as its channel will tell
  client.to_server(create(1, "A"));
  client.to_client(created(1, 100));
  EXPECT_EQ(verdicts(), yes_);
}

TEST_P(CaTapCandidateTest, ConnectionsThatWereOpenBeforeTell) {
  Listener earlier, other;
  Circuit circuit(earlier), stream(other);
  circuit.open("u", "h", {"A"});
  stream.to_server(characters("hello, this is another protocol"));
  set_servers({server_at(0, earlier.port(), ca::kCaCandidate),
               server_at(0, other.port(), ca::kCaCandidate)});
  std::map<std::uint16_t, bool> found;
  for (int look = 0; look < 5; ++look) {
    circuit.to_server(repeat(write(100), 23));
    stream.to_server(Bytes(1000, static_cast<std::uint8_t>(0x41 + look)));
    stream.to_client(Bytes(1000, static_cast<std::uint8_t>(0x61 + look)));
    found = verdicts();
    if (look < 2) {
      EXPECT_EQ(found, not_yet_);
    }
  }
  EXPECT_EQ(found, (std::map<std::uint16_t, bool>{{other.port(), false}}));
  circuit.to_client(message(4 + 15, 6, 1, 1, 1));  // a WRITE_NOTIFY's answer
  EXPECT_TRUE(verdicts()[earlier.port()]);
  EXPECT_EQ(drop("joined_late"), 0u);
  set_servers({server_at(0, earlier.port())});
  EXPECT_EQ(drop("joined_late"), 1u);
  set_servers({server_at(0, earlier.port())});
  reap();
  EXPECT_EQ(drop("joined_late"), 1u);
}

// A forwarder's circuit, and the one that it makes to the server; others have the same first
// channel.
TEST_P(CaTapCandidateTest, ManyThatLookAlikeDoNotHideAForwarder) {
  constexpr int kAlike = 200;
  Listener server, others;
  set_servers({server_at(0, listener_.port(), ca::kCaCandidate), server_at(0, server.port()),
               server_at(0, others.port(), kIoc + 1)});
  std::vector<std::unique_ptr<Circuit>> alike;
  for (int i = 0; i < kAlike; ++i) {
    alike.push_back(std::make_unique<Circuit>(others));
    alike.back()->open("u", "h", {"A"});
  }
  Circuit outer(listener_), inner(server);
  for (Circuit* circuit : {&outer, &inner}) circuit->open("u", "h", {"A"});
  for (int look = 0; look < 6; ++look) {
    for (Circuit* circuit : {&outer, &inner}) circuit->to_server(repeat(write(100), 23));
    EXPECT_EQ(verdicts(), not_yet_);
  }
  EXPECT_EQ(puts_of(kIoc, "A"), 6u * 23u);
  EXPECT_EQ(all_puts(), 6u * 23u);
}

TEST_P(CaTapCandidateTest, SilenceTellsNothing) {
  Listener other;
  Circuit quiet(listener_), joined(other);
  joined.to_server(characters("begin"));
  set_servers({server_at(0, listener_.port(), ca::kCaCandidate),
               server_at(0, other.port(), ca::kCaCandidate)});
  joined.to_server(characters("something"));
  for (int look = 0; look < 5; ++look) EXPECT_EQ(verdicts(), not_yet_);
}

IOCX_WITH_CHOSEN_LOCK(CaTapCandidateTest);

}  // namespace
