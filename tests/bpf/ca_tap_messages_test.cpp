// Outcomes of puts, and other messages of a circuit, on loopback with raw sockets.

#include <numeric>

#include "bpf/ca_tap_fixture.h"
#include "shared/histogram.h"
#include "support/value_of.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;
using puts::PutLabels;
using puts::Tap;

constexpr std::uint32_t kPutFailed = 160;  // ECA_PUTFAIL
constexpr std::uint32_t kNoWrite = 376;    // ECA_NOWTACCESS

std::uint64_t answers(const puts::PutDuration& duration) {
  return std::accumulate(duration.buckets.begin(), duration.buckets.end(), std::uint64_t{0});
}

class CaTapMessages : public CaTapTest {
 protected:
  std::uint64_t failures(const std::string& pv, const std::string& reason) {
    std::uint64_t sum = 0;
    for (const auto& one : collect().failures)
      if (one.labels.pv == pv && one.reason == reason) sum += one.count;
    return sum;
  }
  std::uint64_t all_failures() {
    std::uint64_t sum = 0;
    for (const auto& one : collect().failures) sum += one.count;
    return sum;
  }
  std::uint64_t durations(const std::string& pv) {
    std::uint64_t sum = 0;
    for (const auto& one : collect().durations)
      if (one.pv == pv) sum += answers(one);
    return sum;
  }
  puts::ServerCount server(std::uint32_t ioc = kIoc) {
    for (const auto& one : collect().servers)
      if (one.server.ioc == ioc) return one;
    ADD_FAILURE() << "no server " << ioc;
    return {};
  }
  static Bytes notifies(std::uint32_t sid, std::uint32_t first, std::uint32_t count) {
    Bytes bytes;
    for (std::uint32_t i = 0; i < count; ++i)
      bytes = std::move(bytes) + write_notify(sid, first + i);
    return bytes;
  }
  static Bytes answers_to(std::uint32_t first, std::uint32_t count, std::uint32_t status = 1) {
    Bytes bytes;
    for (std::uint32_t i = 0; i < count; ++i) bytes = std::move(bytes) + written(first + i, status);
    return bytes;
  }
};

TEST_F(CaTapMessages, PutCallbacksHaveDurations) {
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A", "B"});
  circuit.to_server(notifies(100, 1, 23) + notifies(101, 200, 29));
  EXPECT_EQ(durations("A"), 0u);
  circuit.to_client(answers_to(1, 23) + answers_to(200, 17));
  EXPECT_EQ(durations("A"), 23u);
  EXPECT_EQ(durations("B"), 17u);
  circuit.to_client(answers_to(217, 12));
  EXPECT_EQ(durations("B"), 29u);
  EXPECT_EQ(puts("A", PutOp::write_notify), 23u);
  EXPECT_EQ(all_failures(), 0u);
  expect_nothing_lost();
}

// The duration lies between the times before the request and after the answer.
TEST_F(CaTapMessages, DurationIsFromRequestToAnswer) {
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A"});
  const auto before = Tap::Clock::now();
  circuit.to_server(write_notify(100, 1));
  const auto requested = Tap::Clock::now();
  while (Tap::Clock::now() - requested < std::chrono::milliseconds(7)) {
  }
  circuit.to_client(written(1));
  const auto most = std::chrono::nanoseconds(Tap::Clock::now() - before).count();
  const auto& duration = only(collect().durations);
  EXPECT_EQ(duration.number, kIoc);
  EXPECT_EQ(duration.pv, "A");
  EXPECT_GE(duration.sum_ns, 7'000'000u);
  EXPECT_LE(duration.sum_ns, static_cast<std::uint64_t>(most));
  for (std::size_t slot = 0; slot < duration.buckets.size(); ++slot) {
    const bool is_its = slot == iocx_put_hist_slot(duration.sum_ns);
    EXPECT_EQ(duration.buckets[slot], is_its ? 1u : 0u) << slot;
  }
}

TEST_F(CaTapMessages, FailedPutCallbacksAreCountedByReason) {
  Circuit circuit(listener_);
  circuit.open("anna", "h1", {"A"});
  circuit.to_server(notifies(100, 1, 59));
  circuit.to_client(answers_to(1, 23) + answers_to(24, 19, kPutFailed) +
                    answers_to(43, 17, kNoWrite));
  const auto reading = collect();
  ASSERT_EQ(reading.failures.size(), 2u);
  EXPECT_EQ(reading.failures[0].labels, (PutLabels{kIoc, "A", "127.0.0.1", "anna", "h1"}));
  EXPECT_EQ(reading.failures[0].reason, "no_write_access");
  EXPECT_EQ(reading.failures[0].count, 17u);
  EXPECT_EQ(reading.failures[1].reason, "put_failed");
  EXPECT_EQ(reading.failures[1].count, 19u);
  EXPECT_EQ(durations("A"), 59u);
  expect_nothing_lost();
}

// Whole or in pieces; but a WRITE_NOTIFY processes the record.
TEST_F(CaTapMessages, AnAlarmsAcknowledgementIsNoPut) {
  constexpr std::uint32_t kTransient = 35, kSeverity = 36;  // DBR_PUT_ACKT, DBR_PUT_ACKS
  const auto acknowledge = [](std::uint32_t command, std::uint32_t type, std::uint32_t ioid) {
    return message(command, type, 1, 100, ioid, {0, 2});
  };
  const Bytes plain = acknowledge(4, kTransient, 0), refused = acknowledge(4, kSeverity, 1);
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A"});
  circuit.to_server(repeat(plain + refused, 13) + repeat(write(100), 23));
  Bytes callbacks;
  for (std::uint32_t ioid = 2; ioid < 2 + 17; ++ioid)
    callbacks = std::move(callbacks) + acknowledge(19, kSeverity, ioid);
  circuit.to_server_in_pieces(callbacks + notifies(100, 200, 29) + plain, 20);
  circuit.to_client(error(0, kNoWrite, refused) + answers_to(2, 7) + answers_to(9, 10, kPutFailed));
  EXPECT_EQ(puts("A", PutOp::write), 23u);
  EXPECT_EQ(puts("A", PutOp::write_notify), 17u + 29u);
  EXPECT_EQ(durations("A"), 17u);
  EXPECT_EQ(all_failures(), 10u);
  circuit.to_client(answers_to(200, 29));
  EXPECT_EQ(durations("A"), 17u + 29u);
  expect_nothing_lost();
}

TEST_F(CaTapMessages, ErrorAnswersToWrites) {
  Circuit one(listener_), two(listener_);
  one.open("anna", "h1", {"A", "B"});
  two.open("ben", "h2", {"A"});
  one.to_server(repeat(write(100), 23) + write(101));
  two.to_server(repeat(write(100), 5));
  one.to_client(repeat(error(0, kPutFailed, write(100), "A"), 11) + error(1, kNoWrite, write(101)));
  two.to_client(repeat(error(0, kNoWrite, write(100), std::string(400, 'x')), 5));
  EXPECT_EQ(failures("A", "put_failed"), 11u);
  EXPECT_EQ(failures("B", "no_write_access"), 1u);
  EXPECT_EQ(failures("A", "no_write_access"), 5u);
  EXPECT_EQ(all_failures(), 17u);
  EXPECT_TRUE(collect().durations.empty());
  expect_nothing_lost();
}

// rsrv answers what it cannot take at all with ERROR, whatever was asked (camessage()).
TEST_F(CaTapMessages, ErrorAnswersToPutCallbacks) {
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A"});
  const Bytes large = long_message(19, 6, 20000, 100, 5, Bytes(160000, 1));
  circuit.to_server(large + write_notify(100, 6));
  circuit.to_client(error(0, 72, large) + written(6));
  EXPECT_EQ(failures("A", "too_large"), 1u);
  EXPECT_EQ(durations("A"), 2u);
  EXPECT_EQ(all_failures(), 1u);
  expect_nothing_lost();
}

TEST_F(CaTapMessages, OtherErrorsAreNoFailedPuts) {
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A"});
  circuit.to_server(write(100));
  circuit.to_client(error(0, 152, message(15, 6, 1, 100, 9)) +  // READ_NOTIFY: ECA_GETFAIL
                    error(0, 142, message(23, 0, 0, 0, 0)) +
                    message(11, 0, 0, 0, 160, Bytes(8, 0)));  // too short to say what failed
  EXPECT_EQ(all_failures(), 0u);
  expect_nothing_lost();
}

// A client reads all of a payload: its end is never reached, whatever is sent behind the header.
TEST_F(CaTapMessages, LengthOfAServersMessageDoesNotWrap) {
  for (const unsigned last : {0xE8u, 0xF0u, 0xFFu})
    for (const std::size_t piece : {1u, 9u, 1000u}) {
      Circuit circuit(listener_);
      circuit.open("u", "h", {"A"});
      circuit.to_server(write_notify(100, 5));
      Bytes wraps = long_message(15, 6, 1, 1, 0);
      for (const std::size_t at : {16u, 17u, 18u}) wraps[at] = 0xFF;
      wraps[19] = static_cast<std::uint8_t>(last);
      circuit.to_client_in_pieces(wraps + written(5) + Bytes(64, 0xFF), piece);
    }
  EXPECT_EQ(durations("A"), 0u);
}

TEST_F(CaTapMessages, AnswersInPiecesOfEverySize) {
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A"});
  const Bytes answers = access_rights(0, 1) + written(1) + error(0, kPutFailed, write(100)) +
                        update(3) + written(2, kNoWrite);
  for (std::size_t piece = 1; piece < 60; ++piece) {
    circuit.to_server(write_notify(100, 1) + write(100) + write_notify(100, 2));
    circuit.to_client_in_pieces(answers, piece);
  }
  EXPECT_EQ(durations("A"), 118u);
  EXPECT_EQ(failures("A", "put_failed"), 59u);
  EXPECT_EQ(failures("A", "no_write_access"), 59u);
  EXPECT_EQ(server().monitor_updates, 59u);
  expect_nothing_lost();
}

// Such as `caput`: the answer is on its way while the client closes its channel, or its end.
TEST_F(CaTapMessages, FailuresAfterTheChannelsEndCount) {
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A", "B"});
  circuit.to_server(repeat(write(100), 3) + clear(100, 0));
  circuit.to_client(repeat(error(0, kPutFailed, write(100)), 3) + cleared(100, 0));
  EXPECT_EQ(failures("A", "put_failed"), 3u);
  circuit.to_server(write(101) + write_notify(101, 4));
  circuit.end_of_client();
  circuit.to_client(error(1, kNoWrite, write(101)) + written(4));
  EXPECT_EQ(failures("B", "no_write_access"), 1u);
  EXPECT_EQ(durations("B"), 1u);
  reap_all();
  EXPECT_EQ(failures("A", "put_failed"), 3u);
  EXPECT_EQ(failures("B", "no_write_access"), 1u);
  EXPECT_EQ(durations("B"), 1u);
  expect_nothing_lost();
}

TEST_F(CaTapMessages, SidsAreUsedAgainAfterTheEndIsConfirmed) {
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A"});
  circuit.to_server(write(100) + clear(100, 0));
  circuit.to_client(cleared(100, 0));
  circuit.to_server(create(0, "B"));
  circuit.to_client(created(0, 100));
  circuit.to_server(repeat(write(100), 5));
  circuit.to_client(repeat(error(0, kPutFailed, write(100)), 5));
  reap_all();
  circuit.to_server(repeat(write(100), 2));
  circuit.to_client(error(0, kPutFailed, write(100)));
  EXPECT_EQ(failures("B", "put_failed"), 6u);
  EXPECT_EQ(puts("A"), 1u);
  EXPECT_EQ(puts("B"), 7u);
  expect_nothing_lost();
}

// A server that does not confirm the end of a channel.
TEST_F(CaTapMessages, UnconfirmedEndsLeaveNothing) {
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A"});
  circuit.to_server(write(100) + clear(100, 0));
  reap_all();
  EXPECT_EQ(entries("ca_channels"), 0u);
  circuit.to_server(write(100));  // the SID leads nowhere now
  EXPECT_EQ(puts(""), 1u);
  EXPECT_EQ(puts("A"), 1u);
}

TEST_F(CaTapMessages, TotalsOutliveTheirCircuits) {
  for (int i = 0; i < 5; ++i) {
    Circuit circuit(listener_);
    circuit.open("u", "h", {"A"});
    circuit.to_server(notifies(100, 1, 7) + write(100));
    circuit.to_client(answers_to(1, 5) + answers_to(6, 2, kPutFailed) +
                      error(0, kPutFailed, write(100)));
    circuit.abort();
    if (i % 2) reap_all();
  }
  reap_all();
  EXPECT_EQ(durations("A"), 35u);
  EXPECT_EQ(failures("A", "put_failed"), 15u);
  EXPECT_EQ(entries("ca_pending"), 0u);
  EXPECT_EQ(entries("ca_outcomes"), 0u);
  EXPECT_EQ(entries("ca_failures"), 0u);
  expect_nothing_lost();
}

TEST_F(CaTapMessages, UnansweredPutCallbacksGoWithTheirChannel) {
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A"});
  circuit.to_server(notifies(100, 1, 23));
  EXPECT_EQ(entries("ca_pending"), 23u);
  circuit.to_server(clear(100, 0));  // rsrv gives them up
  circuit.to_client(cleared(100, 0));
  reap_all();
  EXPECT_EQ(entries("ca_pending"), 0u);
  EXPECT_EQ(puts("A", PutOp::write_notify), 23u);
  EXPECT_EQ(durations("A"), 0u);
  circuit.to_client(written(5));
  EXPECT_EQ(drop(IOCX_CA_DROP_ORPHAN_ANSWER), 1u);
}

TEST_F(CaTapMessages, FullTablesOfOutcomesAreCounted) {
  puts::TapSizes sizes;
  sizes.max_pending = 4;
  sizes.max_outcomes = 1;
  sizes.max_failures = 1;
  start(sizes);
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A", "B"});
  circuit.to_server(write_notify(100, 1));
  circuit.to_client(written(1, kPutFailed));
  circuit.to_server(write_notify(101, 2));
  circuit.to_client(written(2, kPutFailed));  // no room for its duration, nor for its failure
  EXPECT_EQ(durations("A"), 1u);
  EXPECT_EQ(durations("B"), 0u);
  EXPECT_EQ(all_failures(), 1u);
  EXPECT_EQ(drop(IOCX_CA_DROP_OUTCOMES_FULL), 2u);
  EXPECT_EQ(puts("B", PutOp::write_notify), 1u);
}

TEST_F(CaTapMessages, LastPutHasATime) {
  const auto ns = [] {
    return static_cast<std::uint64_t>(Tap::Clock::now().time_since_epoch().count());
  };
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A"});
  circuit.to_server(write(100));
  const std::uint64_t between = ns();
  circuit.to_server(write(100));
  const std::uint64_t after = ns();
  auto reading = collect();
  EXPECT_GE(only(reading.puts).last_ns + 1, between);
  EXPECT_LE(only(reading.puts).last_ns, after);
  circuit.to_server(write_notify(100, 1));
  reading = collect();
  ASSERT_EQ(reading.puts.size(), 2u);
  EXPECT_LE(reading.puts[0].last_ns, after);
  EXPECT_GE(reading.puts[1].last_ns + 1, after);
}

TEST_F(CaTapMessages, ServerTotals) {
  Circuit circuit(listener_);
  const Bytes request = version() + host_name("h") + client_name("u") + create(0, "A");
  const Bytes answer = version() + created(0, 100);
  const Bytes asked = subscribe(100, 1) + repeat(message(15, 6, 1, 100, 9), 23) +
                      repeat(message(3, 6, 1, 100, 9), 2) + repeat(message(23, 0, 0, 0, 0), 7);
  const Bytes answered = repeat(update(1), 29) + repeat(message(15, 6, 1, 1, 9, Bytes(8, 1)), 23) +
                         message(1, 6, 1, 1, 1) + server_disconnect(0);
  circuit.to_server(request);
  circuit.to_client(answer);
  circuit.to_server(asked);
  circuit.to_client(answered);
  const auto expected = [&](const puts::ServerCount& count, std::uint64_t times) {
    EXPECT_EQ(count.gets, 25u * times);
    EXPECT_EQ(count.monitor_updates, 29u * times);
    EXPECT_EQ(count.echoes, 7u * times);
    EXPECT_EQ(count.server_disconnects, 1u * times);
    EXPECT_EQ(count.received_bytes, (request.size() + asked.size()) * times);
    EXPECT_EQ(count.sent_bytes, (answer.size() + answered.size()) * times);
  };
  expected(server(), 1);
  EXPECT_EQ(server().circuits, 1u);
  // The 4-tuple again, and the entry gone in between or not: nothing is counted twice.
  const std::uint16_t port = circuit.client_port();
  circuit.abort();
  for (std::uint64_t times = 2; times < 5; ++times) {
    if (times % 2) reap_all();
    Circuit again(listener_, port);
    again.to_server(request);
    again.to_client(answer);
    again.to_server(asked);
    again.to_client(answered);
    expected(server(), times);
    again.abort();
  }
  reap_all();
  expected(server(), 4);
  EXPECT_EQ(server().circuits, 0u);
  ASSERT_TRUE(tap_->forget(kIoc));
  EXPECT_TRUE(collect().servers.empty());
}

TEST_F(CaTapMessages, ChannelsByAccess) {
  Circuit circuit(listener_);
  circuit.to_server(version() + create(0, "RW") + create(1, "R") + create(2, "N") +
                    create(3, "OLD") + create(4, "WAITS"));
  circuit.to_client(version() + created(0, 100) + access_rights(1, 1) + message(18, 6, 1, 1, 101) +
                    access_rights(2, 0) + message(18, 6, 1, 2, 102) + message(18, 6, 1, 3, 103));
  const auto expect_channels = [&](std::array<std::uint64_t, 5> expected) {
    EXPECT_EQ(server().channels, expected);
  };
  expect_channels({1, 1, 0, 1, 1});
  circuit.to_client(access_rights(1, 3) + access_rights(0, 2));  // the access security file is new
  expect_channels({1, 0, 1, 1, 1});
  circuit.to_server(clear(100, 0));
  circuit.to_client(server_disconnect(1));
  expect_channels({1, 0, 0, 0, 1});
}

TEST_F(CaTapMessages, MonitorsAndClients) {
  Circuit one(listener_), two(listener_), three(listener_);
  one.open("anna", "h1", {"A", "B"});
  two.open("anna", "h1", {"A"});
  three.open("ben", "h2", {"A"});
  one.to_server(subscribe(100, 1) + subscribe(100, 2) + subscribe(101, 3));
  three.to_server(subscribe(100, 1));
  auto clients = collect().clients;
  ASSERT_EQ(clients.size(), 2u);
  EXPECT_EQ(clients[0].server.ioc, kIoc);
  EXPECT_EQ(clients[0].client, "127.0.0.1");
  EXPECT_EQ(clients[0].user, "anna");
  EXPECT_EQ(clients[0].host, "h1");
  EXPECT_EQ(clients[0].circuits, 2u);
  EXPECT_EQ(clients[0].channels, 3u);
  EXPECT_EQ(clients[0].monitors, 3u);
  EXPECT_EQ(clients[1].user, "ben");
  EXPECT_EQ(clients[1].monitors, 1u);
  EXPECT_EQ(server().monitors, 4u);
  one.to_server(unsubscribe(100, 2) + clear(101, 1) + unsubscribe(100, 2) + unsubscribe(100, 1));
  EXPECT_EQ(server().monitors, 1u);
  one.to_server(subscribe(100, 7));
  one.to_client(error(0, 48, subscribe(100, 7)));  // ECA_ALLOCMEM
  EXPECT_EQ(server().monitors, 1u);
  three.abort();
  EXPECT_EQ(server().monitors, 0u);
  EXPECT_EQ(collect().clients.size(), 1u);
}

TEST_F(CaTapMessages, FlowControl) {
  Circuit one(listener_), two(listener_);
  one.open("u", "h", {"A"});
  two.open("u", "h", {"A"});
  const Bytes off = message(8, 0, 0, 0, 0), on = message(9, 0, 0, 0, 0);
  one.to_server(off);
  EXPECT_EQ(server().flow_controlled, 1u);
  two.to_server(off + on + off);
  EXPECT_EQ(server().flow_controlled, 2u);
  one.to_server(on);
  EXPECT_EQ(server().flow_controlled, 1u);
  two.abort();
  EXPECT_EQ(server().flow_controlled, 0u);
}

// Each channel that was open before has its own place: an earlier run may have kept its name.
TEST_F(CaTapMessages, UnknownSidsHaveTheirOwnSlots) {
  Listener earlier;
  Circuit circuit(earlier);
  circuit.open("u", "h", {"A", "B", "C"});
  watch(earlier);
  circuit.to_server(proof(100) + repeat(write(100), 23) + repeat(write(101), 29) + write(102));
  circuit.to_server(notifies(101, 1, 5));
  circuit.to_client(answers_to(1, 3) + answers_to(4, 2, kPutFailed));
  EXPECT_EQ(entries("ca_channels"), 3u);
  circuit.to_server(clear(102, 2) + write(102));  // a SID that is closed shares another
  EXPECT_EQ(entries("ca_channels"), 4u);
  circuit.abort();
  reap_all();
  EXPECT_EQ(entries("ca_channels"), 0u);
  EXPECT_EQ(puts(""), 54u);
  EXPECT_EQ(puts("", PutOp::write_notify), 5u);
  EXPECT_EQ(failures("", "put_failed"), 2u);
  EXPECT_EQ(durations(""), 5u);
}

TEST_F(CaTapMessages, OutcomesWaitForTheIocToBeFound) {
  watch(listener_, puts::kIocToCome);
  Circuit circuit(listener_);
  circuit.open("u", "h", {"A"});
  circuit.to_server(notifies(100, 1, 23) + subscribe(100, 1));
  circuit.to_client(answers_to(1, 19) + answers_to(20, 4, kPutFailed) + update(1));
  EXPECT_EQ(durations("A"), 0u);
  EXPECT_TRUE(collect().servers.empty());
  watch(listener_);
  EXPECT_EQ(durations("A"), 23u);
  EXPECT_EQ(failures("A", "put_failed"), 4u);
  EXPECT_EQ(server().monitor_updates, 1u);
  EXPECT_EQ(server().monitors, 1u);
  expect_nothing_lost();
}

}  // namespace
