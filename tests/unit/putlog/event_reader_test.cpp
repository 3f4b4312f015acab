#include "putlog/event_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "putlog/json.h"
#include "shared/server_probe.h"
#include "support/value_of.h"

namespace ioc_exporter::putlog {
namespace {

constexpr std::uint64_t kMs = 1'000'000, kNow = 10'000 * kMs;

// Knows channels by the ids of their slots.
struct FakeDirectory {
  std::map<std::uint64_t, puts::PutIdentity> known;
  std::vector<std::pair<std::size_t, bool>> calls;  // how many were asked for, and whether again

  std::vector<std::optional<puts::PutIdentity>> operator()(std::span<const iocx_putlog_event> puts,
                                                           bool again) {
    calls.emplace_back(puts.size(), again);
    std::vector<std::optional<puts::PutIdentity>> found;
    for (const auto& put : puts) {
      const auto who = known.find(put.id);
      found.push_back(who == known.end() ? std::nullopt : std::optional(who->second));
    }
    return found;
  }
};

puts::PutIdentity who(const std::string& pv) {
  return {.labels = {.pv = pv, .client = "10.0.0.2", .user = "operator", .host = "console"},
          .place = {.port = 4711},
          .ioc = "ioc1",
          .server = "10.0.0.1:5064"};
}

std::vector<std::byte> raw_of(const iocx_putlog_event& head, std::size_t more) {
  std::vector<std::byte> raw(sizeof head + more);
  std::memcpy(raw.data(), &head, sizeof head);
  return raw;
}

std::vector<std::byte> changed(std::vector<std::byte> raw,
                               const std::function<void(iocx_putlog_event&)>& change) {
  iocx_putlog_event head;
  std::memcpy(&head, raw.data(), sizeof head);
  change(head);
  std::memcpy(raw.data(), &head, sizeof head);
  return raw;
}

// A put of the short 7.
std::vector<std::byte> put(std::uint64_t id, std::uint64_t time = 0, std::uint64_t lost = 0) {
  iocx_putlog_event head{};
  head.id = id;
  head.time = time;
  head.lost = lost;
  head.count = 1;
  head.type = 1;
  head.value_bytes = 2;
  head.room = IOCX_PUTLOG_SMALL;
  auto raw = raw_of(head, std::size_t{2} * IOCX_PUTLOG_SMALL);
  raw[sizeof head + 1] = std::byte{7};
  return raw;
}

struct PvaNumbers {
  std::uint64_t time;
  std::uint32_t slot;
};

// A put by PV Access of ada to `pv`, whose end will be told.
std::vector<std::byte> pva_put(PvaNumbers numbers, const char* pv, std::uint8_t flags = 0) {
  iocx_putlog_event head{};
  head.id = 1;
  head.time = numbers.time;
  head.slot = numbers.slot;
  head.source = IOCX_PUTLOG_PVA;
  head.flags = IOCX_PUTLOG_HAS_RESULT | flags;
  iocx_pva_key key{};
  head.value_bytes = sizeof key;
  std::strcpy(key.name, pv);
  std::strcpy(key.user, "ada");
  std::strcpy(key.method, "ca");
  std::strcpy(key.peer, "10.0.0.2");
  auto raw = raw_of(head, sizeof key);
  std::memcpy(raw.data() + sizeof head, &key, sizeof key);
  return raw;
}

// It has the database write `value` to a field of characters that had `old`.
std::vector<std::byte> pva_field(PvaNumbers numbers, const char* name, std::int8_t value,
                                 std::int8_t old) {
  iocx_putlog_event head{};
  head.id = numbers.time;
  head.slot = numbers.slot;
  head.time = numbers.time + kMs;
  head.source = IOCX_PUTLOG_PVA;
  head.op = IOCX_PUTLOG_VALUE;
  head.enum_type = 11;
  head.type = 1;
  head.field_type = 1;
  head.field_size = 1;
  head.count = head.old_count = head.value_bytes = head.old_bytes = 1;
  head.room = IOCX_PUTLOG_SMALL;
  auto raw = raw_of(head, std::size_t{2} * IOCX_PUTLOG_SMALL + IOCX_PUTLOG_FIELD);
  raw[sizeof head] = static_cast<std::byte>(value);
  raw[sizeof head + IOCX_PUTLOG_SMALL] = static_cast<std::byte>(old);
  std::strcpy(reinterpret_cast<char*>(raw.data() + sizeof head + 2 * IOCX_PUTLOG_SMALL), name);
  return raw;
}

std::vector<std::byte> pva_end(PvaNumbers numbers, std::uint32_t failure, std::uint16_t options) {
  iocx_putlog_event head{};
  head.id = numbers.time;
  head.slot = numbers.slot;
  head.time = numbers.time + 3 * kMs;
  head.source = IOCX_PUTLOG_PVA;
  head.op = IOCX_PUTLOG_DONE;
  head.count = failure;
  head.type = options;
  return raw_of(head, 0);
}

std::shared_ptr<const policy::Policy> policy_of(
    std::vector<policy::RuleText> rules, policy::Action fallback = policy::Action::unexpected) {
  return std::make_shared<const policy::Policy>(policy::PolicyText{std::move(rules), fallback});
}
policy::RuleText rule(const char* name, policy::Action action, const char* pvs) {
  policy::RuleText text;
  text.name = name;
  text.action = action;
  text.pvs = {pvs};
  return text;
}

WallClock::Reading at(std::uint64_t monotonic, std::int64_t offset = 0) {
  return {static_cast<std::int64_t>(monotonic), static_cast<std::int64_t>(monotonic) + offset};
}

using Texts = std::vector<std::string>;
Texts texts_of(const std::vector<PutEvent>& events, std::string PutEvent::*text) {
  Texts texts;
  for (const PutEvent& event : events) texts.push_back(event.*text);
  return texts;
}

class PutLogReader : public testing::Test {
 protected:
  FakeDirectory directory{{{1, who("SR:Q1")}}, {}};
  EventReader reader{std::ref(directory)};
};

// It waits for what becomes of puts.
class PutLogOfPvAccess : public testing::Test {
 protected:
  FakeDirectory directory;
  EventReader reader{std::ref(directory), std::chrono::milliseconds(500)};
};

class PutLogAnswers : public PutLogOfPvAccess {
 protected:
  static constexpr std::uint64_t kSent = 1000 * kMs;

  PutLogAnswers() { directory.known[1] = who("SR:Q1"); }
};

TEST_F(PutLogReader, TellsClientPvAndValue) {
  ASSERT_TRUE(reader.take(changed(put(1, 5 * kMs), [](auto& head) { head.sent_bytes = 2; })));
  EXPECT_EQ(
      to_json(only(reader.finish(at(6 * kMs, 1000)))),
      R"({"time":"1970-01-01T00:00:00.005001000Z","seq":1,"ioc":"ioc1","server":"10.0.0.1:5064",)"
      R"("client":"10.0.0.2:4711","user":"operator","client_host":"console","pv":"SR:Q1",)"
      R"("op":"write","type":"DBR_SHORT","count":1,"value":7})");
}

TEST_F(PutLogReader, FollowsStepsOfTheClock) {
  reader.take(put(1, kMs));
  EXPECT_EQ(reader.finish(at(2 * kMs, 0))[0].time.time_since_epoch().count(), 1'000'000);
  reader.take(put(1, kMs));
  EXPECT_EQ(reader.finish(at(2 * kMs, -500))[0].time.time_since_epoch().count(), 999'500);
}

TEST_F(PutLogReader, LeavesAHoleWhereEventsWereLost) {
  reader.take(put(1));
  reader.take(put(1, 0, 3));
  reader.take(put(1, 0, 2));  // another processor, which looked earlier
  reader.note_losses({5, 0, 0});
  reader.take(put(1, 0, 5));
  std::vector<std::uint64_t> numbers;
  for (const PutEvent& event : reader.finish(at(kMs))) numbers.push_back(event.seq);
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{1, 5, 6, 9}));
}

TEST_F(PutLogReader, AsksOnceForEachChannel) {
  directory.known[2] = who("SR:Q2");
  for (const std::uint64_t id : {1u, 2u, 1u, 1u, 2u}) reader.take(put(id));
  EXPECT_EQ(reader.finish(at(kMs)).size(), 5u);
  reader.take(put(2));
  EXPECT_EQ(reader.finish(at(kMs))[0].pv, "SR:Q2");
  ASSERT_EQ(directory.calls.size(), 1u);
  EXPECT_EQ(directory.calls[0], (std::pair<std::size_t, bool>(2, false)));
}

// Clients come and go for years: of those that are gone nothing is kept.
TEST_F(PutLogReader, ForgetsChannelsWithoutPutsForAWhile) {
  directory.known[2] = who("SR:Q2");
  reader.take(put(2));
  for (std::uint64_t second = 100; second <= 400; second += 30) {
    reader.take(put(1));
    EXPECT_EQ(reader.finish(at(second * 1000 * kMs)).back().pv, "SR:Q1");
  }
  EXPECT_EQ(directory.calls.size(), 1u);
  reader.take(put(2));
  EXPECT_EQ(reader.finish(at(401'000 * kMs))[0].pv, "SR:Q2");
  EXPECT_EQ(directory.calls.size(), 2u);
}

TEST_F(PutLogReader, WaitsForANameAndKeepsTheOrder) {
  directory.known[1] = who("");
  directory.known[2] = who("SR:Q2");
  reader.take(put(1, kNow));
  reader.take(put(2, kNow));
  EXPECT_TRUE(reader.finish(at(kNow + kMs)).empty());
  directory.known[1] = who("SR:Q1");
  EXPECT_EQ(texts_of(reader.finish(at(kNow + 200 * kMs)), &PutEvent::pv),
            (Texts{"SR:Q1", "SR:Q2"}));
}

TEST_F(PutLogReader, TellsAPutWithoutANameAfterAWhile) {
  directory.known[1] = who("");
  reader.take(put(0, kNow));  // nobody knows anything of it
  reader.take(put(1, kNow));
  EXPECT_TRUE(reader.finish(at(kNow + 999 * kMs)).empty());
  EXPECT_EQ(texts_of(reader.finish(at(kNow + 1000 * kMs)), &PutEvent::user), Texts{""});
  EXPECT_TRUE(reader.finish(at(kNow + 7999 * kMs)).empty());
  const auto events = reader.finish(at(kNow + 8000 * kMs));
  EXPECT_EQ(texts_of(events, &PutEvent::pv), Texts{""});
  EXPECT_EQ(events[0].user, "operator");
}

// The metrics take five seconds for it: the policy judges both by the same name.
TEST_F(PutLogReader, HasTheNameThatTheMetricsSettleOn) {
  directory.known[1] = directory.known[2] = who("");
  reader.take(put(1, kNow));
  EXPECT_TRUE(reader.finish(at(kNow + 4000 * kMs)).empty());
  directory.known[1] = who("SR:Q1");
  EXPECT_EQ(texts_of(reader.finish(at(kNow + 4200 * kMs)), &PutEvent::pv), Texts{"SR:Q1"});
  reader.take(put(2, kNow + 5000 * kMs));
  EXPECT_TRUE(reader.finish(at(kNow + 5001 * kMs)).empty());
  directory.known[2].settled = true;
  EXPECT_EQ(reader.finish(at(kNow + 5200 * kMs)).size(), 1u) << "it will have no name";
}

TEST_F(PutLogReader, AsksOnceForThoseOfOneClientThatHaveNoSlot) {
  for (int i = 0; i < 23; ++i) reader.take(put(0, 1000 * kMs));
  reader.finish(at(1000 * kMs));
  reader.finish(at(1200 * kMs));
  for (const auto& [asked, again] : directory.calls) EXPECT_EQ(asked, 1u);
  EXPECT_EQ(reader.finish(at(2000 * kMs)).size(), 23u);
}

std::vector<std::byte> by_packets(std::uint64_t id, std::uint64_t time) {
  return changed(put(id, time), [](auto& head) { head.source = IOCX_PUTLOG_CA_TAP; });
}

TEST_F(PutLogReader, LeavesOutPutsOfAnotherSource) {
  directory.known[1].by_packets = {200 * kMs, 300 * kMs};
  for (const std::uint64_t ms : {199u, 200u, 299u, 300u}) reader.take(by_packets(1, ms * kMs));
  const auto events = reader.finish(at(310 * kMs));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kernel_ns, 200 * kMs);
  EXPECT_EQ(events[1].seq, 2u);  // nothing was lost between them
}

// Of puts that wait for their names.
TEST_F(PutLogReader, TellsPutsByTheSourceOfTheirTime) {
  directory.known[1] = who("");
  directory.known[1].by_packets = {200 * kMs, UINT64_MAX};
  reader.take(by_packets(1, 199 * kMs));
  reader.take(by_packets(1, 211 * kMs));
  EXPECT_TRUE(reader.finish(at(220 * kMs)).empty());
  directory.known[1] = who("SR:Q1");
  directory.known[1].by_packets = {900 * kMs, UINT64_MAX};
  reader.take(by_packets(1, 307 * kMs));
  const auto events = reader.finish(at(910 * kMs));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kernel_ns, 211 * kMs);
  EXPECT_EQ(events[0].pv, "SR:Q1");
}

TEST_F(PutLogReader, TellsPutsToAServerThatIsFoundLate) {
  directory.known.clear();
  directory.known[3] = who("SR:Q3");
  reader.take(by_packets(1, kNow));
  reader.take(by_packets(2, kNow + kMs));
  reader.take(by_packets(1, kNow + 2 * kMs));
  reader.take(put(3, kNow + 3 * kMs));
  EXPECT_EQ(reader.finish(at(kNow + 1100 * kMs)).size(), 1u);
  EXPECT_TRUE(reader.is_idle());
  EXPECT_TRUE(reader.finish(at(kNow + 1110 * kMs)).empty());
  directory.known[1] = who("SR:Q1");
  directory.known[2] = who("SR:Q2");
  EXPECT_TRUE(reader.finish(at(kNow + 1200 * kMs)).empty()) << "it asks now and then";
  const auto events = reader.finish(at(kNow + 5000 * kMs));
  ASSERT_EQ(texts_of(events, &PutEvent::pv), (Texts{"SR:Q1", "SR:Q2", "SR:Q1"}));
  EXPECT_EQ(events[0].seq, 2u);
  EXPECT_EQ(events[0].kernel_ns, kNow);
  EXPECT_EQ(reader.lost_of_unknown_servers(), 0u);
  EXPECT_TRUE(reader.finish(at(kNow + 9000 * kMs)).empty());
}

TEST_F(PutLogReader, CountsPutsToAServerThatIsFoundLateWithoutRoom) {
  directory.known.clear();
  std::size_t events = 0;
  const auto finish = [&](std::uint64_t ms) {
    const auto done = reader.finish(at(kNow + ms * kMs));
    events += done.size();
    return done.empty() ? 0 : done.back().seq;
  };
  constexpr std::size_t kSent = 40'000;
  for (std::size_t i = 0; i < kSent; ++i) reader.take(by_packets(1, kNow));
  EXPECT_EQ(finish(1100), 0u);
  EXPECT_EQ(reader.lost_of_unknown_servers(), 0u) << "it may be no IOC's";
  directory.known[1] = who("SR:Q1");
  finish(2000);
  EXPECT_GT(events, 1000u);
  EXPECT_EQ(events + reader.lost_of_unknown_servers(), kSent);
  reader.take(by_packets(1, kNow + 2000 * kMs));
  EXPECT_EQ(finish(2010), kSent + 1);
}

TEST_F(PutLogReader, PutsToAServerThatIsNoIocsAreNotTold) {
  directory.known.clear();
  reader.take(by_packets(1, kNow));
  reader.finish(at(kNow + 1100 * kMs));
  reader.finish(at(kNow + 61'000 * kMs));
  directory.known[1] = who("SR:Q1");
  EXPECT_TRUE(reader.finish(at(kNow + 62'000 * kMs)).empty());
  EXPECT_EQ(reader.lost_of_unknown_servers(), 0u);
}

std::vector<std::byte> with(std::vector<std::byte> raw, std::uint8_t op, std::uint32_t ioid,
                            std::uint32_t count = 1) {
  return changed(std::move(raw), [=](auto& head) {
    head.op = op;
    head.ioid = ioid;
    head.count = count;
    head.port = 4711;
  });
}

TEST_F(PutLogAnswers, AreToldWithTheirPuts) {
  constexpr std::uint32_t kPutFail = 160;
  reader.take(with(put(1, kSent + kMs), 1, 7));
  reader.take(with(put(1, kSent + 2 * kMs), 1, 8));
  reader.take(with(put(1, kSent + 3 * kMs), 1, 9));
  reader.take(with(put(1, kSent + 3 * kMs), 0, 10));
  EXPECT_TRUE(reader.finish(at(kSent + 4 * kMs)).empty());
  // The second is answered first; the one before it is still to come.
  reader.take(with(put(kSent, kSent + 5 * kMs), IOCX_PUTLOG_ANSWER, 8, kPutFail));
  EXPECT_TRUE(reader.finish(at(kSent + 6 * kMs)).empty());
  reader.take(with(put(kSent, kSent + 250 * kMs), IOCX_PUTLOG_ANSWER, 7));
  auto events = reader.finish(at(kSent + 251 * kMs));
  ASSERT_EQ(texts_of(events, &PutEvent::status), (Texts{"ok", "put_failed"}));
  EXPECT_DOUBLE_EQ(events[0].seconds.value_or(0), 0.25);
  events = reader.finish(at(kSent + 504 * kMs));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].status, "");
  EXPECT_EQ(events[0].seconds, std::nullopt);
  EXPECT_EQ(events[1].op, "write");
  // Too late: there is no such put any more; nor is it the answer to a later one.
  reader.take(with(put(kSent, kSent + 600 * kMs), IOCX_PUTLOG_ANSWER, 9));
  reader.take(with(put(1, kSent + 700 * kMs), 1, 9));
  reader.take(with(put(kSent, kSent + 650 * kMs), IOCX_PUTLOG_ANSWER, 9));
  EXPECT_EQ(reader.finish(at(kSent + 1300 * kMs))[0].status, "");
}

// A put of a thread of a server that tells what becomes of it, or what became of its last one.
std::vector<std::byte> of_thread(std::uint32_t tid, std::uint8_t op, std::uint64_t time,
                                 std::uint32_t count = 1, std::uint8_t flags = 0) {
  return changed(with(put(1, time), op, 0, count), [=](auto& head) {
    head.tid = tid;
    head.flags = IOCX_PUTLOG_HAS_RESULT | flags;
  });
}

TEST_F(PutLogAnswers, AreTheServersOwn) {
  reader.take(of_thread(7, IOCX_PUTLOG_WRITE, kSent));
  reader.take(of_thread(8, IOCX_PUTLOG_WRITE, kSent));
  reader.take(of_thread(7, IOCX_PUTLOG_REFUSED, kSent, IOCX_FAILED_NO_WRITE_ACCESS));
  reader.take(of_thread(7, IOCX_PUTLOG_WRITE, kSent));
  reader.take(of_thread(7, IOCX_PUTLOG_WRITE_NOTIFY, kSent + 1));
  EXPECT_EQ(reader.finish(at(kSent)).size(), 1u);  // the second one may still be refused
  reader.take(of_thread(8, IOCX_PUTLOG_ENDED, kSent));
  // An answer by packets is not for a put whose server tells.
  reader.take(with(put(0, kSent + 2), IOCX_PUTLOG_ANSWER, 0));
  EXPECT_EQ(texts_of(reader.finish(at(kSent)), &PutEvent::status), (Texts{"ok", "ok"}));
  reader.take(changed(of_thread(9, IOCX_PUTLOG_DONE, kSent + 250 * kMs + 1, IOCX_FAILED_PUT_FAILED),
                      [](auto& head) { head.id = kSent + 1; }));
  const auto events = reader.finish(at(kSent + 251 * kMs));
  ASSERT_EQ(texts_of(events, &PutEvent::status), Texts{"put_failed"});
  EXPECT_DOUBLE_EQ(events[0].seconds.value_or(0), 0.25);
}

TEST_F(PutLogAnswers, ALostRefusalIsNotTakenForSuccess) {
  reader.take(of_thread(7, IOCX_PUTLOG_WRITE, kSent));
  reader.take(of_thread(7, IOCX_PUTLOG_ENDED, kSent, 1, IOCX_PUTLOG_RESULT_LOST));
  EXPECT_EQ(texts_of(reader.finish(at(kSent)), &PutEvent::status), Texts{""});
}

// Its slot is that of whoever had the SID before.
TEST_F(PutLogAnswers, APutToAChannelThatIsGoneIsNobodys) {
  reader.set_policy(
      policy_of({rule("SR", policy::Action::forbid, "SR:.*")}, policy::Action::allow));
  reader.take(of_thread(7, IOCX_PUTLOG_WRITE, kSent));
  reader.take(of_thread(7, IOCX_PUTLOG_WRITE, kSent));
  reader.take(
      of_thread(7, IOCX_PUTLOG_REFUSED, kSent, IOCX_FAILED_INTERNAL_ERROR, IOCX_PUTLOG_STRAY));
  const auto events = reader.finish(at(kSent));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].user + " " + events[0].action, "operator forbidden");
  EXPECT_EQ(events[1].pv + events[1].user + events[1].client_host, "");
  EXPECT_EQ(events[1].client + " " + events[1].status, "10.0.0.2:4711 internal_error");
  EXPECT_EQ(events[1].action, "unjudged");
}

TEST_F(PutLogAnswers, ByPacketsAreThoseOfTheSameIoc) {
  directory.known[1].labels.ioc = 3;
  reader.take(with(put(1, kSent), IOCX_PUTLOG_WRITE_NOTIFY, 7));
  reader.take(with(put(0, kSent), IOCX_PUTLOG_ANSWER, 7));  // of IOC 0
  EXPECT_TRUE(reader.finish(at(kSent)).empty());
}

// As bytes arrays take forty times their size in memory.
TEST_F(PutLogAnswers, MemoryOfWaitingEventsIsBounded) {
  constexpr std::uint16_t kChar = 4;
  constexpr std::uint32_t kBytes = 512;
  reader.take(with(put(1, kSent), 1, 7));  // is not answered
  auto raw = changed(put(1, kSent), [](iocx_putlog_event& head) {
    head.count = head.value_bytes = head.room = kBytes;
    head.type = kChar;
  });
  raw.resize(sizeof(iocx_putlog_event) + std::size_t{2} * kBytes);
  reader.take(raw);
  EXPECT_TRUE(reader.finish(at(kSent)).empty());
  std::size_t taken = 2;
  for (; reader.finish(at(kSent)).empty() && taken < 10'000; ++taken) reader.take(raw);
  EXPECT_LT(taken, 1000u);  // 20 MB
}

// Those that the metrics have counted for the former one, however late they are read.
TEST_F(PutLogReader, AFormerPolicyJudgesThePutsThatWereCountedBeforeTheNewOne) {
  directory.known[2] = who("SR:Q2");
  reader.set_policy(policy_of({}, policy::Action::forbid));
  reader.set_policy(policy_of({}, policy::Action::allow), {{1, {2, 0}}});
  reader.set_policy(policy_of({}, policy::Action::expect), {{1, {3, 0}}});
  for (const auto& [id, number] : {std::pair{1u, 2u}, {1u, 3u}, {1u, 4u}, {2u, 1u}})
    reader.take(changed(put(id), [number = number](auto& head) { head.number = number; }));
  EXPECT_EQ(texts_of(reader.finish(at(kMs)), &PutEvent::action),
            (Texts{"forbidden", "allowed", "expected", "expected"}));
}

TEST_F(PutLogReader, GivesThePolicysVerdict) {
  policy::RuleText operators = rule("operators", policy::Action::allow, ".*");
  for (const auto& [user, verdict] :
       {std::pair{"operator", "operators allowed"}, {"expert", "default unexpected"}}) {
    operators.users = {user};
    reader.set_policy(policy_of({operators}));
    reader.take(put(1));
    const auto events = reader.finish(at(kMs));
    EXPECT_EQ(events[0].rule + " " + events[0].action, verdict);
  }
}

TEST_F(PutLogReader, HasRoomForSoManyAndSoMuch) {
  // A put of 8,000 characters that are no text, each of which is an element.
  iocx_putlog_event head{};
  head.time = 1000 * kMs;
  head.count = head.value_bytes = 8000;
  head.type = 4;
  auto raw = raw_of(head, 0);
  raw.resize(sizeof head + 8000, std::byte{0xFF});
  std::size_t taken = 0;
  while (reader.room() > 0 && reader.take(raw)) ++taken;
  EXPECT_GT(taken, 100u);
  EXPECT_LT(taken * 8000 * sizeof(Element), 2 * EventReader::kMostBytes);
  EXPECT_EQ(reader.finish(at(1000 * kMs), true).size(), taken);
  EXPECT_EQ(reader.room(), EventReader::kMostWaiting);
}

TEST_F(PutLogReader, RefusesInvalidEvents) {
  EXPECT_FALSE(reader.take(std::span<const std::byte>(put(1)).first(20)));
  EXPECT_FALSE(reader.take(changed(put(1), [](auto& head) { head.room = 4096; })));
  EXPECT_TRUE(reader.is_idle());
}

TEST_F(PutLogOfPvAccess, APutHasItsValueItsEndAndItsOptions) {
  const PvaNumbers one{5 * kMs, 3}, other{5 * kMs, 4};
  EXPECT_TRUE(reader.take(pva_put(one, "A:x")));
  EXPECT_TRUE(reader.take(pva_put(other, "A:y")));
  EXPECT_TRUE(reader.take(pva_field(other, "A:y", -7, -128)));
  EXPECT_TRUE(reader.finish(at(9 * kMs)).empty());
  EXPECT_TRUE(reader.take(pva_end(
      other, IOCX_FAILURES, IOCX_PUTLOG_VALUES | IOCX_PUTLOG_BLOCK | IOCX_PUTLOG_NO_PROCESS)));
  EXPECT_TRUE(reader.take(pva_end(one, IOCX_FAILED_NO_WRITE_ACCESS, IOCX_PUTLOG_VALUES)));
  const auto events = reader.finish(at(9 * kMs));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(to_json(events[0]),
            R"({"time":"1970-01-01T00:00:00.005000000Z","seq":1,"client":"10.0.0.2",)"
            R"("user":"ada","client_host":"10.0.0.2","pv":"A:x","op":"put",)"
            R"("value_unknown":"not_written","status":"no_write_access","seconds":0.003})");
  EXPECT_EQ(to_json(events[1]),
            R"({"time":"1970-01-01T00:00:00.005000000Z","seq":2,"client":"10.0.0.2",)"
            R"("user":"ada","client_host":"10.0.0.2","pv":"A:y","op":"put","type":"DBR_CHAR",)"
            R"("count":1,"value":-7,"old":-128,"process":"false","block":true,"status":"ok",)"
            R"("seconds":0.003})");
}

TEST_F(PutLogOfPvAccess, AGroupHasItsFieldsAndSaysWhetherAllAreThere) {
  for (const auto options : {std::uint16_t{IOCX_PUTLOG_VALUES}, std::uint16_t{0}}) {
    const PvaNumbers numbers{5 * kMs, options};
    EXPECT_TRUE(reader.take(pva_put(numbers, "A:group", IOCX_PUTLOG_GROUP)));
    EXPECT_TRUE(reader.take(pva_field(numbers, "A:x.VAL", 1, 2)));
    EXPECT_TRUE(reader.take(pva_field(numbers, "A:y.VAL", 'o', 'k')));
    EXPECT_TRUE(reader.take(pva_field(numbers, "A:z.VAL$", 'o', 'k')));  // a long string is a text
    EXPECT_TRUE(reader.take(pva_end(numbers, IOCX_FAILURES, options)));
  }
  const auto events = reader.finish(at(9 * kMs));
  ASSERT_EQ(events.size(), 2u);
  const auto written = [](const PutEvent& event) {
    const std::string line = to_json(event);
    return line.substr(line.find("\"op\""));
  };
  EXPECT_EQ(written(events[0]),
            R"("op":"put","fields":[)"
            R"({"field":"A:x.VAL","type":"DBR_CHAR","count":1,"value":1,"old":2},)"
            R"({"field":"A:y.VAL","type":"DBR_CHAR","count":1,"value":111,"old":107},)"
            R"({"field":"A:z.VAL$","type":"DBR_CHAR","count":1,"value":"o","old":"k"}],)"
            R"("status":"ok","seconds":0.003})");
  EXPECT_EQ(events[1].fields, events[0].fields);
  EXPECT_EQ(events[1].value_unknown, "pv_access");
}

TEST_F(PutLogOfPvAccess, AGroupMayNotWriteWhatIsForbiddenAlone) {
  reader.set_policy(policy_of({rule("closed", policy::Action::forbid, "A:shutter"),
                               rule("rest", policy::Action::allow, "A:.*")}));
  const auto verdict = [&](const char* group, const char* member) {
    const PvaNumbers numbers{5 * kMs, 3};
    reader.take(pva_put(numbers, group, IOCX_PUTLOG_GROUP));
    for (const char* name : {"A:x.VAL", member, "A:y.VAL"})
      reader.take(pva_field(numbers, name, 1, 2));
    reader.take(pva_end(numbers, IOCX_FAILURES, IOCX_PUTLOG_VALUES));
    const auto events = reader.finish(at(9 * kMs));
    return events.size() == 1 ? events[0].rule + "/" + events[0].action : "";
  };
  EXPECT_EQ(verdict("A:grp", "A:shutter.VAL"), "closed/forbidden");
  EXPECT_EQ(verdict("B:grp", "A:shutter.VAL"), "closed/forbidden");
  EXPECT_EQ(verdict("A:grp", "A:z.VAL"), "rest/allowed");
  EXPECT_EQ(verdict("A:grp", ""), "rest/allowed");
  EXPECT_EQ(verdict("A:grp", "B:z.VAL"), "rest/allowed");  // the group's own rule is enough
  EXPECT_EQ(verdict("B:grp", "A:z.VAL"), "default/unexpected");
}

// An end that comes too late, and fields of a put that was told, change no put; fields are counted.
TEST_F(PutLogOfPvAccess, WhatComesLateIsNobodys) {
  const PvaNumbers numbers{5 * kMs, 3};
  reader.take(pva_put(numbers, "A:x"));
  const auto events = reader.finish(at(600 * kMs));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].status, "");
  EXPECT_EQ(events[0].value_unknown, "pv_access");
  EXPECT_EQ(reader.late_values(), 0u);
  EXPECT_TRUE(reader.take(pva_field(numbers, "A:x", 1, 2)));
  EXPECT_EQ(reader.late_values(), 1u);
  EXPECT_TRUE(reader.take(pva_end(numbers, IOCX_FAILURES, IOCX_PUTLOG_VALUES)));
  EXPECT_TRUE(reader.finish(at(700 * kMs)).empty() && reader.is_idle());
  auto cut = pva_field(numbers, "A:x", 1, 2);
  cut.pop_back();
  EXPECT_FALSE(reader.take(cut));
}

}  // namespace
}  // namespace ioc_exporter::putlog
