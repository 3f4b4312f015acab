// Puts by PV Access of an IOC that this process is: exact, and under the names that its objects
// have.
#include "puts/server_probe/server_probe.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

#include "pva_server.h"
#include "support/value_of.h"

namespace ioc_exporter::puts {
namespace {

using namespace ioc_exporter::test;
using std::chrono::seconds;
// By PV Access.
struct Labels : PutLabels {
  Labels(PutLabels labels) : PutLabels(std::move(labels)) {}
  Labels(std::uint32_t server, std::string name, std::string address, std::string account,
         std::string source)
      : PutLabels{
            server, std::move(name), std::move(address), std::move(account), std::move(source),
            false,  Protocol::pva} {}
};
using Counts = std::map<Labels, PutsByOp>;

class PvaServerProbeTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kSlots = 16'384;

  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to load BPF programs";
    auto started = ServerProbe::start({Protocol::pva, kSlots, {}, {}}, totals_, nullptr);
    ASSERT_TRUE(started) << started.error().message();
    probe_.emplace(std::move(*started));
    ioc_.id.pid = ::getpid();
    ioc_.name = "test";
    ioc_.serves_pva = true;
    const std::pair<std::uint32_t, const void*> functions[] = {
        {0, reinterpret_cast<void*>(pva_test_single_put)},
        {2, reinterpret_cast<void*>(pva_test_group_put)},
        {4, reinterpret_cast<void*>(pva_test_put_done)},
        {6, reinterpret_cast<void*>(pva_test_on_put)},
        {9, reinterpret_cast<void*>(pva_test_error)}};
    std::vector<elf::CodeRange> code;
    for (const auto& [function, address] : functions) code.push_back({offset_of(address), 4});
    auto file = elf::CodeFile::open(UniqueFd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)),
                                    "the test", code);
    ASSERT_TRUE(file) << file.error().message();
    for (const auto& [function, address] : functions)
      ioc_.pva_puts.push_back({"the test", *file, function, offset_of(address)});
    iocs::LiveIoc& live = live_[ioc_.id];
    live.ioc = ioc_;
    live.number = 7;
    live.serial = 1;
    follow();
    ASSERT_EQ(probe_->attachments(), std::size(functions)) << probe_->unheard().at(7);
  }

  void follow() { probe_->follow(live_, false, now_); }
  Counts puts() {
    EXPECT_TRUE(probe_->collect(now_));
    Counts counts;
    for (const PutCount& one : totals_->puts.counts())
      counts[one.labels][one.op == PutOp::write ? 0 : 1] += one.count;
    return counts;
  }
  // Those that access rules forbid, and others.
  Counts failed_puts() const {
    Counts counts;
    for (const PutFailure& one : totals_->outcomes(Protocol::pva).failures())
      counts[one.labels][one.reason == "no_write_access" ? 0 : 1] += one.count;
    return counts;
  }
  std::uint64_t dropped(iocx_server_drop cause) {
    return value_of(
        kernel::sum_per_cpu_counters(probe_->object().maps().drops, IOCX_PVA_DROPS))[cause];
  }

  template <class String>
  void put_to_all(const std::string& prefix) {
    const SingleChannel<String> single{
        .name = prefix + "single", .credentials = {text_vector("operator"), text_vector("::1")}};
    const GroupChannel<String> group{.name = prefix + "a_group_with_a_long_name",
                                     .credentials = {text_vector(""), text_vector("192.0.2.7")}};
    const Put to_single{.channel = &single}, to_group{.channel = &group};
    const void* const singles[] = {&to_single};
    const void* const groups[] = {&to_group};
    const Status<String> fine{.type = 0, .message = ""}, warning{.type = 1, .message = "well"},
        refused{.type = 2, .message = "Put not permitted"},
        refused_to_group{.type = 2, .message = "Process not permitted"},
        failed{.type = 3, .message = "Put"};
    for (int i = 0; i < 23; ++i) pva_test_single_put(&to_single);
    for (int i = 0; i < 19; ++i) pva_test_group_put(&to_group);
    for (const auto* status : {&fine, &warning, &refused, &failed})
      pva_test_put_done(nullptr, status, singles);
    for (const auto* status : {&fine, &refused_to_group, &refused_to_group})
      pva_test_put_done(nullptr, status, groups);
    const Credentials2<String> who{.peer = "[2001:db8::1]:41234",
                                   .interface = "[::]:5075",
                                   .method = "ca",
                                   .account = "guest"};
    const Operation<String> put{.name = prefix + "new", .credentials = &who};
    const Operation<String> get{.name = prefix + "new", .credentials = &who, .type = 2};
    const void* const operation[] = {&put};
    for (int i = 0; i < 17; ++i) pva_test_on_put(nullptr, operation);
    const String error("No fields changed");
    for (int i = 0; i < 3; ++i) pva_test_error(&put, &error);
    pva_test_error(&get, &error);
  }
  static void expect(Counts& puts, Counts& failures, const std::string& prefix) {
    const Labels single{7, prefix + "single", "::1", "operator", "::1"},
        group{7, prefix + "a_group_with_a_long_name", "192.0.2.7", "", "192.0.2.7"},
        fresh{7, prefix + "new", "2001:db8::1", "guest", "2001:db8::1"};
    puts[single] = {23, 0};
    puts[group] = {19, 0};
    puts[fresh] = {17, 0};
    failures[single] = {1, 1};
    failures[group] = {2, 0};
    failures[fresh] = {0, 3};
  }

  ServerProbe::Clock::time_point now_ = ServerProbe::Clock::now();
  std::shared_ptr<Totals> totals_ = std::make_shared<Totals>(kPutSeries);
  std::optional<ServerProbe> probe_;
  iocs::Ioc ioc_;
  ServerProbe::LiveIocs live_;
};

TEST_F(PvaServerProbeTest, EachPutUnderItsNamesInBothLayouts) {
  put_to_all<std::string>("P:");
  put_to_all<OldString>("O:");
  Counts expected, failures;
  expect(expected, failures, "P:");
  expect(expected, failures, "O:");
  EXPECT_EQ(puts(), expected);
  EXPECT_EQ(failed_puts(), failures);
  EXPECT_EQ(probe_->unheard().at(7),
            "its files name no functions to hear of puts to groups of "
            "QSRV 2");
  for (const auto reason :
       {IOCX_SERVER_DROP_FULL, IOCX_SERVER_DROP_UNREADABLE, IOCX_SERVER_DROP_CUT})
    EXPECT_EQ(dropped(reason), 0u) << reason;
}

// A program that is not position independent has small pointers: what follows a string from before
// C++11 could be the length of a newer one, whose zero byte is there by chance.
TEST_F(PvaServerProbeTest, SmallPointersBehindAnOldStringAreNoLength) {
  std::vector<char> memory(1 << 20);
  const OldString name("P:set");
  constexpr std::size_t kHead = 3 * sizeof(std::uint64_t);
  std::memcpy(memory.data(), name.text_ - kHead, kHead + sizeof "P:set");
  SingleChannel<OldString> single{.name = "",
                                  .credentials = {text_vector("operator"), text_vector("::1")}};
  single.name.text_ = memory.data() + kHead;
  single.pointers[0] = reinterpret_cast<void*>(1 << 19);
  const Put put{.channel = &single};
  for (int i = 0; i < 23; ++i) pva_test_single_put(&put);
  EXPECT_EQ(puts(), (Counts{{{7, "P:set", "::1", "operator", "::1"}, {23, 0}}}));
}

// Of a build that is not known, or in a process that is no friend.
TEST_F(PvaServerProbeTest, MemoryWithoutTheShapeOfAPutHasNoNames) {
  const std::array<std::uint64_t, 64> zeros{};
  std::array<std::uint64_t, 64> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = i * 1'000'003;
  std::array<const void*, 64> loops{};
  loops.fill(loops.data());
  const SingleChannel<std::string> no_end{.name = "n", .credentials = {{'u'}, {'h'}}};
  const Put puts_to[] = {{.channel = nullptr},
                         {.channel = zeros.data()},
                         {.channel = loops.data()},
                         {.channel = &no_end}};
  const Status<std::string> failed{.type = 2, .message = "?"};
  std::uint64_t asked = 0;
  for (const Put& put : puts_to) {
    const void* const shared[] = {&put};
    pva_test_single_put(&put);
    pva_test_group_put(&put);
    pva_test_put_done(nullptr, &failed, shared);
    asked += 2;
  }
  const void* const nowhere = reinterpret_cast<const void*>(8);
  for (const void* object :
       {static_cast<const void*>(nullptr), nowhere, static_cast<const void*>(zeros.data()),
        static_cast<const void*>(numbers.data())}) {
    const void* const operation[] = {object};
    pva_test_on_put(nullptr, operation);
    pva_test_single_put(object);
    pva_test_error(object, object);
    asked += 2;
  }
  pva_test_on_put(nullptr, nullptr);
  pva_test_put_done(nullptr, nullptr, nullptr);
  ++asked;
  const Labels nobody{7, "", "", "", ""}, known_pv{7, "n", "", "", ""};
  EXPECT_EQ(puts(), (Counts{{nobody, {asked - 2, 0}}, {known_pv, {2, 0}}}));
  EXPECT_EQ(failed_puts(), (Counts{{nobody, {0, 4}}, {known_pv, {0, 1}}}));
  EXPECT_EQ(dropped(IOCX_SERVER_DROP_UNREADABLE), asked + 5);
}

TEST_F(PvaServerProbeTest, NamesAreCutAtTheirBounds) {
  const SingleChannel<std::string> fits{
      .name = std::string(151, 'n'),
      .credentials = {text_vector(std::string(63, 'u')), text_vector("192.0.2.7")}};
  const SingleChannel<std::string> longer{
      .name = std::string(152, 'n'),
      .credentials = {text_vector(std::string(64, 'u')), text_vector("192.0.2.7")}};
  const Put put{.channel = &fits}, cut{.channel = &longer};
  pva_test_single_put(&put);
  EXPECT_EQ(dropped(IOCX_SERVER_DROP_CUT), 0u);
  for (int i = 0; i < 3; ++i) pva_test_single_put(&cut);
  EXPECT_EQ(dropped(IOCX_SERVER_DROP_CUT), 3u);
  EXPECT_EQ(puts(),
            (Counts{{{7, std::string(151, 'n'), "192.0.2.7", std::string(63, 'u'), "192.0.2.7"},
                     {4, 0}}}));
}

// However long its account is, nobody hides the address that he writes from.
TEST_F(PvaServerProbeTest, ALongAccountHidesNoAddress) {
  const std::string account(70'000, 'u');
  const SingleChannel<std::string> single{
      .name = "P:set", .credentials = {text_vector(account), text_vector("192.0.2.7")}};
  const SingleChannel<OldString> old{
      .name = "P:set", .credentials = {text_vector(account), text_vector("192.0.2.7")}};
  const Put put{.channel = &single}, old_put{.channel = &old};
  const Credentials2<std::string> who{
      .peer = "192.0.2.7:41234", .interface = "[::]:5075", .method = "ca", .account = account};
  const Operation<std::string> operation{.name = "P:set", .credentials = &who};
  const void* const operations[] = {&operation};
  for (int i = 0; i < 23; ++i) {
    pva_test_single_put(&put);
    pva_test_single_put(&old_put);
    pva_test_on_put(nullptr, operations);
  }
  EXPECT_EQ(puts(),
            (Counts{{{7, "P:set", "192.0.2.7", account.substr(0, 63), "192.0.2.7"}, {69, 0}}}));
  EXPECT_EQ(dropped(IOCX_SERVER_DROP_CUT), 69u);
  EXPECT_EQ(dropped(IOCX_SERVER_DROP_UNREADABLE), 0u);
}

TEST_F(PvaServerProbeTest, OneWithEverNewNamesTakesNoCountAndNoRoomFromAnother) {
  constexpr std::uint64_t kFlood = 20'000;
  const auto flood = [](int round) {
    for (std::uint64_t i = 0; i < kFlood; ++i) {
      const SingleChannel<std::string> channel{
          .name = "P:set",
          .credentials = {text_vector(std::to_string(round) + "." + std::to_string(i)),
                          text_vector("192.0.2.66")}};
      const Put put{.channel = &channel};
      pva_test_single_put(&put);
    }
  };
  const auto put_as_another = [](int count) {
    for (int user = 0; user < 50; ++user) {
      const SingleChannel<std::string> channel{
          .name = "P:set",
          .credentials = {text_vector("user" + std::to_string(user)), text_vector("192.0.2.7")}};
      const Put put{.channel = &channel};
      for (int i = 0; i < count; ++i) pva_test_single_put(&put);
    }
  };
  const auto sum = [](const Counts& counts, const std::string& client) {
    std::uint64_t all = 0;
    for (const auto& [labels, puts] : counts)
      if (labels.client == client) all += puts[0];
    return all;
  };
  flood(0);
  put_as_another(7);
  Counts now = puts();
  const std::uint64_t entries = probe_->object().held();
  EXPECT_LT(entries, kSlots * 3 / 4);
  EXPECT_EQ(sum(now, "192.0.2.66") + sum(now, ""), kFlood);
  EXPECT_EQ(sum(now, ""), dropped(IOCX_SERVER_DROP_FULL));
  for (int user = 0; user < 50; ++user)
    EXPECT_EQ((now[{7, "P:set", "192.0.2.7", "user" + std::to_string(user), "192.0.2.7"}]),
              (PutsByOp{7, 0}));

  // An idle probe is given up, and its counts stay.
  now_ += ServerProbe::kIdle + seconds(1);
  ASSERT_TRUE(probe_->reap(now_));
  put_as_another(1);
  now_ += ServerProbe::kGrace + seconds(1);
  ASSERT_TRUE(probe_->reap(now_));
  EXPECT_EQ(probe_->object().held(), 50u);
  put_as_another(1);
  flood(1);
  now = puts();
  EXPECT_EQ(sum(now, "192.0.2.66") + sum(now, ""), 2 * kFlood);
  EXPECT_EQ(sum(now, "192.0.2.7"), 50u * 9);
}

// pvxs has the port in what it calls a client: a tool that is run for each put has ever new ones.
TEST_F(PvaServerProbeTest, AClientThatConnectsAnewForEachPutTakesOneEntry) {
  constexpr std::uint64_t kPuts = 20'000;
  for (const std::string address : {"192.0.2.66", "[2001:db8::66]"})
    for (std::uint64_t i = 0; i < kPuts; ++i) {
      const Credentials2<std::string> who{.peer = address + ":" + std::to_string(1024 + i),
                                          .interface = "[::]:5075",
                                          .method = "ca",
                                          .account = "guest"};
      const Operation<std::string> put{.name = "P:set", .credentials = &who};
      const void* const operation[] = {&put};
      pva_test_on_put(nullptr, operation);
    }
  EXPECT_EQ(puts(), (Counts{{{7, "P:set", "192.0.2.66", "guest", "192.0.2.66"}, {kPuts, 0}},
                            {{7, "P:set", "2001:db8::66", "guest", "2001:db8::66"}, {kPuts, 0}}}));
  EXPECT_EQ(probe_->object().held(), 2u);
  EXPECT_EQ(dropped(IOCX_SERVER_DROP_FULL), 0u);
}

// One attachment for all processes takes the place of those for this one, and gives it back.
TEST_F(PvaServerProbeTest, NoPutIsLostOrCountsTwiceWhereAMainThreadEnds) {
  const std::uint64_t attachments = probe_->attachments();
  Counts expected, failures;
  for (const bool ended : {false, true, false}) {
    live_.at(ioc_.id).ioc.main_thread_ended = ended;
    follow();
    EXPECT_EQ(probe_->attachments(), attachments);
    EXPECT_EQ(totals_->choice.source({7, Protocol::pva}), SourceChoice::Source::server);
    put_to_all<std::string>("P:");
  }
  expect(expected, failures, "P:");
  for (Counts* const all : {&expected, &failures})
    for (auto& [labels, counts] : *all)
      for (auto& count : counts) count *= 3;
  EXPECT_EQ(puts(), expected);
  EXPECT_EQ(failed_puts(), failures);
}

TEST_F(PvaServerProbeTest, AnIocThatIsGoneLeavesItsCountsAndItsPlaces) {
  put_to_all<std::string>("P:");
  probe_->follow({}, false, now_);
  EXPECT_EQ(probe_->attachments(), 0u);
  put_to_all<std::string>("P:");  // nobody counts
  Counts expected, failures;
  expect(expected, failures, "P:");
  EXPECT_EQ(puts(), expected);
  now_ += ServerProbe::kGrace + seconds(1);
  ASSERT_TRUE(probe_->reap(now_));
  EXPECT_EQ(probe_->object().held(), 0u);
  EXPECT_EQ(puts(), expected);
  live_.at(ioc_.id).serial = 2;
  follow();  // it is back
  put_to_all<std::string>("P:");
  for (auto& [labels, counts] : expected) counts[0] *= 2;
  EXPECT_EQ(puts(), expected);
  totals_->forget(7);
  EXPECT_EQ(puts(), Counts{});
}

}  // namespace
}  // namespace ioc_exporter::puts
