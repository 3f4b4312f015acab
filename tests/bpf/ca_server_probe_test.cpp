// Puts that a CA server is asked for, in an IOC that this process is: who takes all the places that
// he can get costs no other a count.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "elf/function_search.h"
#include "kernel/event_ring.h"
#include "kernel/ring_shares.h"
#include "puts/server_probe/server_probe_object.h"
#include "pva_server.h"
#include "shared/putlog.h"
#include "shared/ring_shares.h"
#include "support/value_of.h"

namespace ioc_exporter::puts {
namespace {

// Entered as rsrv's functions are: header, payload, client.
extern "C" [[gnu::noinline, gnu::noclone]] void ca_test_write(const void*, const void*,
                                                              const void*) {
  asm volatile("# ca_test_write" ::: "memory");
}

// The others: send_err(), dbProcessNotify(), write_notify_done_callback(), dbNotifyCancel().
#define CA_TEST_FUNCTION(name, ...)                                   \
  extern "C" [[gnu::noinline, gnu::noclone]] void name(__VA_ARGS__) { \
    asm volatile("# " #name ::: "memory");                            \
  }
CA_TEST_FUNCTION(ca_test_notify, const void*, const void*, const void*)
CA_TEST_FUNCTION(ca_test_error, const void*, int, const void*)
CA_TEST_FUNCTION(ca_test_start, const void*)
CA_TEST_FUNCTION(ca_test_done, const void*)
CA_TEST_FUNCTION(ca_test_cancel, const void*)

// dbChannelIO::write(), plain and with callback.
CA_TEST_FUNCTION(ca_test_inside, const void*, const void*, unsigned, std::uint64_t, const void*)
CA_TEST_FUNCTION(ca_test_inside_cb, const void*, const void*, unsigned, std::uint64_t, const void*)
CA_TEST_FUNCTION(ca_test_inside_done, const void*)

struct Header {  // caHdrLargeArray
  std::uint32_t before[2] = {};
  std::uint32_t sid = 0;
  std::uint32_t available = 0;
  std::uint16_t type = 6;
  std::uint16_t command = 4;
};

struct Client {  // struct client from its address on, after what is not read
  std::array<std::uint8_t, 168> before{};
  std::uint16_t family = 2;
  std::array<std::uint8_t, 2> port{};
  std::array<std::uint8_t, 4> address{};
  std::uint64_t rest[4] = {};
  const char* user = nullptr;
  const char* host = nullptr;
};
static_assert(offsetof(Client, address) == 172 && offsetof(Client, host) == 216);

class CaServerProbeTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kRoom = 1024, kFlood = 3 * kRoom;

  void SetUp() override { start({}); }
  void start(const kernel::RingUse& ring) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to load BPF programs";
    auto loaded = ServerProbeObject::load({Protocol::ca, kRoom, ring, {}});
    ASSERT_TRUE(loaded) << loaded.error().message();
    object_.emplace(std::move(*loaded));
    attach(0, reinterpret_cast<void*>(ca_test_write));
    become(1);
  }
  void attach(std::uint32_t number, void* function) {
    const std::uint64_t offset = test::offset_of(function);
    UniqueFd fd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    const auto size = value_of(elf::size_of_any_function_at(fd.get(), offset));
    auto file = elf::CodeFile::open(std::move(fd), "the test", {{offset, size}});
    ASSERT_TRUE(file) << file.error().message();
    auto probe = object_->attacher().attach(number, {*file, "the test", offset, ::getpid()});
    ASSERT_TRUE(probe) << probe.error().message();
    probes_.push_back(std::move(*probe));
  }
  // From now on this process is another IOC; `bucket`: the variable of its server.
  void become(std::uint32_t generation, const void* bucket = nullptr) {
    ASSERT_TRUE(object_->maps().remainder.update(generation, {}, kernel::UpdateMode::any));
    iocx_server_ioc config{};
    config.generation = generation;
    config.bucket = reinterpret_cast<std::uint64_t>(bucket);
    ASSERT_TRUE(object_->maps().iocs.update(static_cast<std::uint32_t>(::getpid()), config));
  }
  // Two puts to each of so many channels.
  static void put(const Client& client, std::uint32_t channels) {
    for (int times = 0; times < 2; ++times)
      for (std::uint32_t sid = 1; sid <= channels; ++sid) {
        const Header header{.sid = sid};
        ca_test_write(&header, nullptr, &client);
      }
  }
  static Client client(std::array<std::uint8_t, 4> address, std::uint16_t port = 40'000) {
    Client made;
    made.address = address;
    made.port = {static_cast<std::uint8_t>(port >> 8), static_cast<std::uint8_t>(port)};
    made.user = "user";
    made.host = "host";
    return made;
  }
  std::uint64_t puts_of(const Client& client) const {
    std::uint64_t puts = 0;
    for (std::uint32_t slot = 0; slot < kRoom; ++slot)
      if (const auto& channel = object_->slots()[slot];
          channel.client == reinterpret_cast<std::uint64_t>(&client))
        puts += channel.puts[0];
    return puts;
  }
  std::uint32_t taken() const {
    std::uint32_t slots = 0;
    for (std::uint32_t slot = 0; slot < kRoom; ++slot)
      if (object_->slots()[slot].state != IOCX_SLOT_FREE) ++slots;
    return slots;
  }
  std::uint64_t remainder(std::uint32_t generation) const {
    auto remainder = object_->maps().remainder.lookup(generation);
    return remainder && *remainder ? (*remainder)->puts[0] : 0;
  }
  // Put-callbacks.
  std::size_t open() const { return value_of(object_->maps().open_callbacks.keys()).size(); }
  std::uint64_t drops(std::uint32_t reason) const {
    std::uint64_t all = 0;
    for (const std::uint64_t count : value_of(object_->maps().drops.lookup_cpus(reason)))
      all += count;
    return all;
  }
  void free_all() {
    for (std::uint32_t slot = 0; slot < kRoom; ++slot) {
      if (object_->slots()[slot].state == IOCX_SLOT_FREE) continue;
      EXPECT_TRUE(object_->give_up(slot));
      EXPECT_TRUE(object_->give_slot(slot));
    }
  }

  std::optional<ServerProbeObject> object_;
  std::vector<elf::FunctionProbe> probes_;
};

TEST_F(CaServerProbeTest, AClientThatWritesToAllChannelsTakesNoCountFromAnother) {
  const Client greedy[] = {client({192, 0, 2, 66}), client({127, 0, 0, 1}, 50'000)};
  const Client others[] = {client({192, 0, 2, 7}), client({127, 0, 0, 1}, 50'001)};
  std::uint32_t first = 0;
  // Twice: the same again when all places are free.
  for (int round = 0; round < 2; ++round) {
    const std::uint64_t before = remainder(1);
    for (const Client& one : greedy) put(one, kFlood);
    for (const Client& one : others) put(one, 20);
    for (const Client& one : others) EXPECT_EQ(puts_of(one), 40u);
    EXPECT_LT(taken(), kRoom * 3 / 4);
    EXPECT_EQ(puts_of(greedy[0]) + puts_of(greedy[1]) + remainder(1) - before, 4u * kFlood);
    if (round == 0) first = taken();
    EXPECT_EQ(taken(), first);
    free_all();
  }
}

// A server's list of clients, and its hash of channels with one.
struct Server {
  struct Channel {  // channel_in_use
    std::array<std::uint64_t, 5> before{};
    const Client* client = nullptr;
    std::array<std::uint32_t, 3> between{};
    std::uint32_t sid = 0;
    std::uint64_t pad = 0;
    const void* db_channel = nullptr;
    const void* access = nullptr;
  };
  struct DbChannel {
    const char* name = "A:setpoint";
    std::uint64_t address[4] = {};
    std::int16_t types[2] = {}, special = 0, pad = 0;
  };
  struct Access {  // AsgClient
    std::array<std::uint8_t, 60> before{};
    std::int32_t rights = 2;
  };
  struct Item {
    Item* next = nullptr;
    const std::uint32_t* id = nullptr;
    Channel* channel = nullptr;
  };
  struct Bucket {
    Item** table;
    void* free_list = nullptr;
    std::uint32_t mask = 1, bits = 1;
  };
  static_assert(offsetof(Channel, sid) == 60 && offsetof(Channel, db_channel) == 72);

  DbChannel db_channel;
  Access access;
  Channel channel;
  Item item{nullptr, &channel.sid, &channel};
  Item* table[2] = {};
  Bucket bucket{table};
  const Bucket* variable = &bucket;

  // A channel of that client.
  void open(const Client& client, std::uint32_t sid) {
    channel.client = &client;
    channel.db_channel = &db_channel;
    channel.access = &access;
    channel.sid = sid;
    table[sid & 1] = &item;
  }
};

// Whoever gets a client's memory when that one has gone, and names its channel, is not taken for
// it.
TEST_F(CaServerProbeTest, AClientInTheMemoryOfAnotherIsNotThatOne) {
  Server server;
  become(1, &server.variable);
  Client here = client({192, 0, 2, 7});
  server.open(here, 1);
  std::thread([&] { put(here, 1); }).join();  // which serves the first client
  ASSERT_EQ(taken(), 1u);
  ASSERT_EQ(object_->slots()[0].named, 1u);
  server.table[1] = nullptr;
  here = client({192, 0, 2, 66});
  std::thread([&] { put(here, 1); }).join();
  std::map<std::uint8_t, std::uint64_t> puts;
  for (std::uint32_t slot = 0; slot < kRoom; ++slot)
    if (const auto& channel = object_->slots()[slot]; channel.state != IOCX_SLOT_FREE)
      puts[channel.who.address[3]] += channel.puts[0];
  EXPECT_EQ(puts, (std::map<std::uint8_t, std::uint64_t>{{7, 2}, {66, 2}}));
}

// Outcomes of puts, as rsrv's functions are entered.
class PutResultsTest : public CaServerProbeTest {
 protected:
  struct Notify {  // processNotify
    std::array<std::uint8_t, 32> before{};
    std::int32_t status = 0;
    std::array<std::uint8_t, 44> between{};
    const void* channel = nullptr;
  };
  static_assert(offsetof(Notify, channel) == 80);

  void SetUp() override {
    CaServerProbeTest::SetUp();
    if (IsSkipped()) return;
    attach(1, reinterpret_cast<void*>(ca_test_notify));
    attach(2, reinterpret_cast<void*>(ca_test_error));
    attach(3, reinterpret_cast<void*>(ca_test_start));
    attach(4, reinterpret_cast<void*>(ca_test_done));
    attach(5, reinterpret_cast<void*>(ca_test_cancel));
    become(1, &server_.variable);
    server_.open(owner_, 1);
    notify_.channel = &server_.channel;
  }
  void write(const Client& sender) { ca_test_write(&write_, nullptr, &sender); }
  void ask() { ca_test_notify(&ask_, nullptr, &owner_); }
  void ask_and_start() {
    ask();
    ca_test_start(&notify_);
  }
  void finish(std::int32_t status) {
    notify_.status = status;
    ca_test_done(&notify_);
  }
  // Of the owner; those of the guest, who has one slot at most, are reported apart.
  const iocx_server_slot& slot() const { return object_->slots()[slot_index(owner_)]; }
  const iocx_server_result& result() const { return object_->results()[slot_index(owner_)]; }
  const iocx_server_slot& guests() const { return object_->slots()[slot_index(guest_)]; }
  std::uint32_t slot_index(const Client& sender) const {
    EXPECT_LE(taken(), 2u);
    for (std::uint32_t slot = 0; slot < kRoom; ++slot)
      if (object_->slots()[slot].state != IOCX_SLOT_FREE &&
          object_->slots()[slot].client == reinterpret_cast<std::uint64_t>(&sender))
        return slot;
    ADD_FAILURE() << "it has none";
    return 0;
  }
  std::map<int, std::uint64_t> failures() const { return failures(owner_); }
  std::map<int, std::uint64_t> failures(const Client& sender) const {
    const iocx_server_result& result = object_->results()[slot_index(sender)];
    std::map<int, std::uint64_t> all;
    for (int i = 0; i < IOCX_FAILURES; ++i)
      if (result.failures[i] != 0) all[i] = result.failures[i];
    return all;
  }
  std::uint64_t timed() const { return timed(owner_); }
  std::uint64_t timed(const Client& sender) const {
    std::uint64_t all = 0;
    for (const std::uint64_t bucket : durations(sender).buckets) all += bucket;
    return all;
  }
  iocx_server_durations durations(const Client& sender) const {
    const auto durations = object_->maps().durations.lookup(slot_index(sender));
    return durations && *durations ? **durations : iocx_server_durations{};
  }
  std::uint64_t lost_results() const { return drops(IOCX_CA_SERVER_DROP_RESULT); }

  Server server_;
  Client owner_ = client({192, 0, 2, 7}), guest_ = client({192, 0, 2, 66});
  Header write_{.sid = 1}, ask_{.sid = 1, .command = 19};
  Notify notify_;
};

using Failures = std::map<int, std::uint64_t>;

TEST_F(PutResultsTest, TheFirstPutsOfTwoClientsToOneChannelAtOnceHaveItsName) {
  constexpr std::uint32_t kRounds = 199;
  std::atomic<std::uint32_t> go = 0, ready = 0;
  const auto write_each = [&](const Client& sender) {
    for (std::uint32_t round = 1; round <= kRounds; ++round) {
      const Header header{.sid = round};
      ready.fetch_add(1);
      while (go.load() < round) continue;
      ca_test_write(&header, nullptr, &sender);
    }
    ready.fetch_add(1);
  };
  std::thread owner([&] { write_each(owner_); }), guest([&] { write_each(guest_); });
  for (std::uint32_t round = 1; round <= kRounds; ++round) {
    while (ready.load() < 2 * round) std::this_thread::yield();
    server_.open(owner_, round);
    go.store(round);
  }
  owner.join();
  guest.join();
  EXPECT_EQ(taken(), 2u * kRounds);
  EXPECT_EQ(puts_of(owner_), kRounds);
  EXPECT_EQ(puts_of(guest_), kRounds);
  EXPECT_EQ(remainder(1), 0u);
  for (std::uint32_t slot = 0; slot < kRoom; ++slot)
    if (object_->slots()[slot].state != IOCX_SLOT_FREE) {
      EXPECT_EQ(object_->slots()[slot].named, 1u);
    }
}

// The server waits for one before it starts the next. Each client has a thread of its own there.
TEST_F(PutResultsTest, PutCallbacksOfTwoClientsToOneChannelAreEachTheirSenders) {
  const auto guest = [this](const std::function<void()>& between, std::int32_t status) {
    std::thread([&] {
      ca_test_notify(&ask_, nullptr, &guest_);
      std::thread(between).join();  // the owner's, or any
      ca_test_start(&notify_);
    }).join();
    EXPECT_EQ(open(), 1u);
    finish(status);
  };
  for (int i = 0; i < 23; ++i) {
    ask_and_start();
    guest([this] { finish(0); }, i < 5 ? 2 : 0);
    guest([this] { ask(); }, 0);
    ca_test_start(&notify_);
    finish(0);
  }
  EXPECT_EQ(slot().puts[1], 46u);
  EXPECT_EQ(timed(), 46u);
  EXPECT_EQ(failures(), Failures{});
  EXPECT_EQ(guests().puts[1], 46u);
  EXPECT_EQ(timed(guest_), 46u);
  EXPECT_EQ(failures(guest_), (Failures{{IOCX_FAILED_PUT_FAILED, 5}}));
  EXPECT_EQ(lost_results(), 0u);
  EXPECT_EQ(result().asked_ns, 0u);
  EXPECT_EQ(object_->results()[slot_index(guest_)].asked_ns, 0u);
  EXPECT_EQ(result().notify, 0u);
  EXPECT_EQ(open(), 0u);
}

// Its channel goes, or the server waits no longer.
TEST_F(PutResultsTest, AGuestsPutCallbackThatIsCancelledIsItsFailure) {
  for (int i = 0; i < 7; ++i) {
    ca_test_notify(&ask_, nullptr, &guest_);
    ca_test_start(&notify_);
    ca_test_cancel(&notify_);
    ask_and_start();
    finish(0);
  }
  EXPECT_EQ(failures(guest_), (Failures{{IOCX_FAILED_CANCELLED, 7}}));
  EXPECT_EQ(timed(guest_), 0u);
  EXPECT_EQ(failures(), Failures{});
  EXPECT_EQ(timed(), 7u);
  EXPECT_EQ(open(), 0u);
}

// Each from its own request on: that of the guest waits for 200 ms, the owner's then for 50.
TEST_F(PutResultsTest, PutCallbacksOfTwoClientsToOneChannelHaveTheirOwnDurations) {
  using std::chrono::milliseconds;
  const auto now = [] { return std::chrono::steady_clock::now(); };
  std::atomic<int> step = 0;
  const auto wait_for = [&step](int wanted) {
    while (step < wanted) std::this_thread::yield();
  };
  const auto begun = now();
  ask_and_start();
  std::thread guest([&] {
    ca_test_notify(&ask_, nullptr, &guest_);
    step = 1;
    wait_for(2);
    ca_test_start(&notify_);
    finish(0);
    step = 3;
  });
  wait_for(1);
  std::this_thread::sleep_for(milliseconds(150));
  const auto asked = now();
  ask();
  std::this_thread::sleep_for(milliseconds(50));
  finish(0);
  const auto first = now();
  step = 2;
  wait_for(3);
  ca_test_start(&notify_);
  finish(0);
  const auto end = now();
  guest.join();
  const auto at_most = [](std::chrono::nanoseconds most) {
    return static_cast<std::uint64_t>(most.count());
  };
  EXPECT_EQ(timed(), 2u);
  EXPECT_GE(durations(owner_).sum_ns, 250'000'000u);
  EXPECT_LE(durations(owner_).sum_ns, at_most((first - begun) + (end - asked)));
  EXPECT_EQ(timed(guest_), 1u);
  EXPECT_GE(durations(guest_).sum_ns, 200'000'000u);
  EXPECT_LE(durations(guest_).sum_ns, at_most(end - begun));
  EXPECT_EQ(lost_results(), 0u);
}

// A client can make a chain of the hash as long as it likes. No put pays for that again and again,
// and one with a callback, which leads to its channel, gives it its name.
TEST_F(PutResultsTest, AChannelBehindALongChainIsLookedForAFewTimesOnly) {
  constexpr std::uint32_t kLong = 150, kPuts = 23;
  std::vector<Server::Channel> others(kLong);
  std::vector<Server::Item> items(kLong);
  for (std::uint32_t i = 0; i < kLong; ++i) {
    others[i].sid = 3 + 2 * i;
    items[i] = {i + 1 < kLong ? &items[i + 1] : &server_.item, &others[i].sid, &others[i]};
  }
  server_.table[1] = items.data();
  for (std::uint32_t i = 0; i < kPuts; ++i) write(owner_);
  EXPECT_EQ(slot().puts[0], kPuts);
  EXPECT_EQ(slot().named, 0u);
  EXPECT_EQ(slot().searches, 3u);
  server_.table[1] = &server_.item;
  write(owner_);
  EXPECT_EQ(slot().named, 0u);
  ask_and_start();
  finish(0);
  EXPECT_EQ(slot().named, 1u);
  EXPECT_EQ(timed(), 1u);
  write(owner_);
  EXPECT_EQ(slot().puts[0], kPuts + 2);
  EXPECT_EQ(slot().puts[1], 1u);
}

TEST_F(PutResultsTest, NamesThatAreCutAreCounted) {
  const std::string fits(63, 'u'), user(64, 'u'), whole(231, 'n'), name(232, 'n');
  owner_.user = fits.c_str();
  owner_.host = fits.c_str();
  server_.db_channel.name = whole.c_str();
  for (int i = 0; i < 3; ++i) write(owner_);
  EXPECT_EQ(drops(IOCX_SERVER_DROP_CUT), 0u);
  Client other = client({192, 0, 2, 9});
  other.user = other.host = user.c_str();
  server_.db_channel.name = name.c_str();
  server_.open(other, 3);
  server_.table[0] = &server_.item;  // its chain
  write_.sid = 3;
  for (int i = 0; i < 3; ++i) write(other);
  EXPECT_EQ(drops(IOCX_SERVER_DROP_CUT), 3u);
}

TEST_F(PutResultsTest, AWriteToTheChannelOfAnotherIsTheSenders) {
  owner_.user = "operator";
  for (int i = 0; i < 23; ++i) write(guest_);
  for (int i = 0; i < 19; ++i) write(owner_);
  EXPECT_EQ(slot().puts[0], 19u);
  EXPECT_EQ(slot().guest, 0u);
  EXPECT_EQ(guests().puts[0], 23u);
  EXPECT_EQ(guests().who.address[3], 66u);
  EXPECT_EQ(guests().guest, 1u);
  for (const Client* const sender : {&owner_, &guest_}) {
    const auto info = object_->maps().ca_info.lookup(slot_index(*sender));
    ASSERT_TRUE(info && *info);
    EXPECT_STREQ((*info)->name, "A:setpoint");
    EXPECT_STREQ((*info)->user, sender->user);
    EXPECT_STREQ((*info)->owner_user, sender == &guest_ ? "operator" : "");
    EXPECT_EQ((*info)->owner_address[3], sender == &guest_ ? 7 : 0);
  }
}

// Without a channel it may: the server allocates the new name before it frees the old one.
TEST_F(PutResultsTest, AGuestThatTakesAnotherNameIsAnotherOne) {
  std::string name = "guest";
  guest_.user = name.c_str();
  for (int i = 0; i < 23; ++i) write(guest_);
  name = "other";  // the second one after it is where it was
  for (int i = 0; i < 19; ++i) write(guest_);
  EXPECT_EQ(taken(), 2u);
  EXPECT_EQ(puts_of(guest_), 42u);
  EXPECT_EQ(guests().puts[0], 23u);
}

// SIDs are easily guessed. The server has refused that put: it is none to a channel that comes.
TEST_F(PutResultsTest, APutAheadOfItsChannelIsToNone) {
  server_.table[1] = nullptr;
  write(guest_);
  ca_test_error(&write_, 142, &guest_);
  server_.table[1] = &server_.item;
  for (int i = 0; i < 23; ++i) write(guest_);
  EXPECT_EQ(taken(), 2u);
  EXPECT_EQ(puts_of(guest_), 24u);
  EXPECT_EQ(guests().puts[0], 1u);
  EXPECT_EQ(guests().named, 0u);
  EXPECT_EQ(failures(guest_), (Failures{{IOCX_FAILED_INTERNAL_ERROR, 1}}));
}

TEST_F(PutResultsTest, ErrorsOfPutsCountByReasonAndThoseOfOtherCommandsDoNot) {
  for (int i = 0; i < 23; ++i) {
    write(owner_);
    ca_test_error(&write_, 160, &owner_);
  }
  for (int i = 0; i < 7; ++i) {
    write(guest_);
    ca_test_error(&write_, 376, &guest_);
  }
  ca_test_error(&write_, 8 * 60, &owner_);
  const Header read{.sid = 1, .command = 15};
  ca_test_error(&read, 160, &owner_);
  EXPECT_EQ(failures(), (Failures{{IOCX_FAILED_PUT_FAILED, 23}, {IOCX_FAILED_OTHER, 1}}));
  EXPECT_EQ(failures(guest_), (Failures{{IOCX_FAILED_NO_WRITE_ACCESS, 7}}));
  EXPECT_EQ(slot().puts[0], 23u);
  EXPECT_EQ(guests().puts[0], 7u);
  EXPECT_EQ(timed(), 0u);
}

// The server knows no such channel, and its client may have taken another name.
TEST_F(PutResultsTest, APutToAChannelThatIsGoneIsNotItsFormerClients) {
  for (int i = 0; i < 23; ++i) write(owner_);
  ask_and_start();
  finish(0);
  server_.table[1] = nullptr;
  for (const Header* const header : {&write_, &ask_}) {
    (header == &write_ ? ca_test_write : ca_test_notify)(header, nullptr, &owner_);
    ca_test_error(header, 142, &owner_);
  }
  EXPECT_EQ(slot().puts[0] - slot().stray[0], 23u);
  EXPECT_EQ(slot().puts[1] - slot().stray[1], 1u);
  EXPECT_EQ(failures(), Failures());
  EXPECT_EQ(remainder(1), 1u);
  EXPECT_EQ(lost_results(), 0u);
}

TEST_F(PutResultsTest, APutThatNeverReachesTheWriteFunctionIsAFailureAlone) {
  ca_test_error(&write_, 72, &owner_);
  EXPECT_EQ(failures(), (Failures{{IOCX_FAILED_TOO_LARGE, 1}}));
  EXPECT_EQ(slot().puts[0], 0u);
}

TEST_F(PutResultsTest, PutCallbacksAreTimedFromTheRequestToTheEnd) {
  for (int i = 0; i < 19; ++i) {
    ask_and_start();
    std::thread([&] { finish(i < 5 ? 2 : 0); }).join();
  }
  EXPECT_EQ(slot().puts[1], 19u);
  EXPECT_EQ(failures(), (Failures{{IOCX_FAILED_PUT_FAILED, 5}}));
  EXPECT_EQ(timed(), 19u);
  EXPECT_EQ(result().notify, 0u);
  EXPECT_EQ(lost_results(), 0u);
}

TEST_F(PutResultsTest, RefusedPutsHaveAReasonAndNoDuration) {
  server_.access.rights = 1;
  for (int i = 0; i < 11; ++i) ask();
  server_.access.rights = 2;
  server_.db_channel.special = 1;
  for (int i = 0; i < 7; ++i) ask();
  server_.db_channel.special = 0;
  ask_.type = 39;
  for (int i = 0; i < 5; ++i) ask();
  ask_.type = 6;
  server_.channel.access = nullptr;
  for (int i = 0; i < 3; ++i) {
    ask_and_start();
    finish(0);
  }
  EXPECT_EQ(failures(), (Failures{{IOCX_FAILED_NO_WRITE_ACCESS, 18}, {IOCX_FAILED_BAD_TYPE, 5}}));
  EXPECT_EQ(timed(), 3u);
  EXPECT_EQ(lost_results(), 0u);
}

TEST_F(PutResultsTest, OneThatIsCancelledAndDoneAllTheSameIsDone) {
  ask_and_start();
  ca_test_cancel(&notify_);
  EXPECT_NE(result().ended_ns, 0u);
  finish(0);
  ca_test_cancel(&notify_);
  EXPECT_EQ(failures(), Failures{});
  EXPECT_EQ(timed(), 1u);
  EXPECT_EQ(result().notify, 0u);
}

// It was done, and cancelled before the database could say so.
TEST_F(PutResultsTest, OneThatTheDatabaseCallsCancelledIsAFailureWithoutADuration) {
  for (int i = 0; i < 7; ++i) {
    ask_and_start();
    ca_test_cancel(&notify_);
    finish(1);
  }
  EXPECT_EQ(failures(), (Failures{{IOCX_FAILED_CANCELLED, 7}}));
  EXPECT_EQ(timed(), 0u);
  EXPECT_EQ(result().notify, 0u);
}

TEST_F(PutResultsTest, OneThatTheServerNoLongerWaitsForHasTimedOut) {
  ask_and_start();
  ask();
  ca_test_cancel(&notify_);
  ca_test_start(&notify_);
  finish(0);
  EXPECT_EQ(failures(), (Failures{{IOCX_FAILED_CALLBACK_TIMED_OUT, 1}}));
  EXPECT_EQ(timed(), 1u);
}

TEST_F(PutResultsTest, AWriteBegunBeforeOrElsewhereIsNoPutOfTheServer) {
  ca_test_start(&notify_);
  finish(2);
  Notify inside;
  inside.channel = &inside;
  ask();
  ca_test_start(&inside);
  ca_test_done(&inside);
  EXPECT_EQ(failures(), Failures{});
  EXPECT_EQ(timed(), 0u);
  EXPECT_NE(result().asked_ns, 0u);
  ask();
  EXPECT_EQ(lost_results(), 1u) << "neither started nor refused";
}

class PutsInTheRingTest : public CaServerProbeTest {
 protected:
  static constexpr std::uint32_t kSize = 1u << 20;
  static constexpr std::uint32_t kEvent = sizeof(iocx_putlog_event) + 2 * IOCX_PUTLOG_SMALL;

  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to load BPF programs";
    auto shares = kernel::RingShares::create("test_shares", IOCX_PUTLOG_PLACES);
    ASSERT_TRUE(shares) << shares.error().message();
    shares_ = std::move(*shares);
    auto ring = kernel::EventRing::create("test_events", kSize);
    ASSERT_TRUE(ring) << ring.error().message();
    ring_.emplace(std::move(*ring));
    start({ring_->fd(), shares_.fd(), kSize, IOCX_PUTLOG_SMALL, kSize});
  }
  // How many puts of each client's last number of its address were in the ring, which then is
  // empty.
  std::map<int, std::uint64_t> reported() {
    std::map<int, std::uint64_t> reported;
    const auto read = ring_->read(SIZE_MAX, [&](std::span<const std::byte> event) {
      iocx_putlog_event head;
      std::memcpy(&head, event.data(), sizeof head);
      ++reported[head.address[3]];
      EXPECT_EQ(event.size(), kEvent);
      shares_.note_read(head.place, event.size());
    });
    EXPECT_TRUE(read);
    for (std::uint32_t place = 0; place < IOCX_PUTLOG_PLACES; ++place)
      EXPECT_EQ(shares_.held(place), 0u);
    return reported;
  }

  kernel::RingShares shares_;
  std::optional<kernel::EventRing> ring_;
};

// Without a reader: what one has is what he gets.
TEST_F(PutsInTheRingTest, AGreedyClientTakesNoPutFromAnother) {
  constexpr std::uint64_t kFlooding = 10'000;
  const std::uint64_t fits = kSize / iocx_ring_bytes(kEvent);
  Client greedy = client({192, 0, 2, 66}), quiet = client({192, 0, 2, 7}),
         elsewhere = client({192, 0, 2, 8});
  for (int round = 0; round < 2; ++round) {
    const kernel::LostEvents before = object_->lost_events();
    become(1);
    put(greedy, kFlooding / 2);
    const kernel::LostEvents lost = object_->lost_events();
    EXPECT_EQ(lost.no_room, 0u);
    put(quiet, 25);  // to the same IOC
    become(2);
    put(elsewhere, 25);
    EXPECT_EQ(object_->lost_events().all(), lost.all());
    auto puts = reported();
    EXPECT_EQ(puts[66] + lost.no_share - before.no_share, kFlooding);
    EXPECT_GE(puts[66], fits * 3 / 4);
    EXPECT_LE(puts[66], fits * 3 / 4 + 2);
    EXPECT_EQ(puts[7], 50u);
    EXPECT_EQ(puts[8], 50u);
  }
}

// As with an IOC that is no friend: its clients are what it says.
TEST_F(CaServerProbeTest, AnIocWithManyTakesNoCountFromAnother) {
  for (std::uint32_t i = 0; i < 200; ++i) {
    const Client made_up = client({10, 9, 0, static_cast<std::uint8_t>(i)});
    put(made_up, 30);
  }
  EXPECT_EQ(taken(), kRoom * 3 / 4);
  become(9);
  const Client other = client({192, 0, 2, 7});
  put(other, 10);
  EXPECT_EQ(puts_of(other), 20u);
  EXPECT_EQ(remainder(9), 0u);
}

// Clients in the IOC's own process.
using CaPutsOf = std::pair<std::uint64_t, std::uint64_t>;

class InsideTest : public CaServerProbeTest {
 protected:
  struct Channel {  // dbChannel: its name, and its dbAddr
    const char* name = "T:set";
    const void* record = nullptr;
    const double* field = nullptr;
    const void* description = nullptr;
    std::int64_t elements = 1;
    std::int16_t types[4] = {10, 8, 0, 6};
  };
  struct Io {  // dbChannelIO
    std::uint64_t before[8] = {};
    const Channel* channel = nullptr;
  };
  struct Notify {  // processNotify
    std::uint64_t rest[4] = {};
    std::int32_t status = 0;
    std::uint64_t more[6] = {};
  };

  void SetUp() override {
    CaServerProbeTest::SetUp();
    if (IsSkipped()) return;
    attach(3, reinterpret_cast<void*>(ca_test_start));
    attach(5, reinterpret_cast<void*>(ca_test_cancel));
    attach(7, reinterpret_cast<void*>(ca_test_inside));
    attach(8, reinterpret_cast<void*>(ca_test_inside_cb));
    attach(9, reinterpret_cast<void*>(ca_test_inside_done));
    channel_.field = &value_;
    io_.channel = &channel_;
  }
  void put() const { ca_test_inside(&io_, nullptr, 6, 1, &value_); }
  void begin(const Notify& notify) const {
    ca_test_inside_cb(&io_, nullptr, 6, 1, &value_);
    ca_test_start(&notify);
  }
  // By the writer's name.
  std::map<std::string, CaPutsOf> writers() const {
    std::map<std::string, CaPutsOf> all;
    for (std::uint32_t slot = 0; slot < kRoom; ++slot)
      if (object_->slots()[slot].inside != 0) {
        const auto info = object_->maps().ca_info.lookup(slot);
        EXPECT_TRUE(info && *info);
        EXPECT_STREQ((*info)->name, "T:set");
        all[(*info)->user] = {object_->slots()[slot].puts[0], object_->slots()[slot].puts[1]};
      }
    return all;
  }

  double value_ = 1;
  Channel channel_;
  Io io_;
};

TEST_F(InsideTest, EachThreadIsAWriter) {
  for (const char* const name : {"seqOne", "seqTwo", "seqOne"})
    std::thread([&] {
      ::pthread_setname_np(::pthread_self(), name);
      for (int i = 0; i < 23; ++i) put();
      Notify notify;
      begin(notify);
      ca_test_inside_done(&notify);
    }).join();
  EXPECT_EQ(writers(), (std::map<std::string, CaPutsOf>{{"seqOne", {46, 2}}, {"seqTwo", {23, 1}}}));
  EXPECT_EQ(remainder(1), 0u);
  EXPECT_EQ(drops(IOCX_CA_SERVER_DROP_INSIDE), 0u);
}

TEST_F(InsideTest, PutCallbacksAreOpenUntilTheyAreDoneOrCancelled) {
  Notify notifies[3], other;
  for (const Notify& notify : notifies) begin(notify);
  ca_test_start(&other);  // by nobody in here
  EXPECT_EQ(open(), 3u);
  ca_test_inside_done(&notifies[1]);
  ca_test_cancel(&notifies[0]);
  ca_test_inside_done(&other);
  EXPECT_EQ(open(), 1u);
  begin(notifies[2]);  // again, where the end was not seen
  EXPECT_EQ(open(), 1u);
  ca_test_inside_done(&notifies[2]);
  EXPECT_EQ(open(), 0u);
}

// They never end, as those of an IOC that is no friend.
TEST_F(InsideTest, OpenPutCallbacksOfOneIocTakeNoRoomFromAnother) {
  const std::uint32_t room = iocx_cap(IOCX_OPEN_CALLBACKS);
  std::vector<Notify> many(room + 100);
  for (const Notify& notify : many) begin(notify);
  EXPECT_EQ(open(), room);
  EXPECT_EQ(drops(IOCX_SERVER_DROP_OPEN), 100u);
  become(2);
  const Notify others[10];
  for (const Notify& notify : others) begin(notify);
  EXPECT_EQ(open(), room + 10);
  become(1);
  for (const Notify& notify : many) ca_test_inside_done(&notify);
  EXPECT_EQ(open(), 10u);
  EXPECT_EQ(object_->held(IOCX_SERVER_CALLBACKS + 2), 10u);
  EXPECT_EQ(object_->held(IOCX_SERVER_CALLBACKS + 1), 0u);
}

TEST_F(InsideTest, AWriterThatCannotBeReadIsADrop) {
  for (int i = 0; i < 7; ++i) ca_test_inside(reinterpret_cast<void*>(16), nullptr, 6, 1, &value_);
  EXPECT_EQ(drops(IOCX_CA_SERVER_DROP_INSIDE), 7u);
  EXPECT_TRUE(writers().empty());
  EXPECT_EQ(remainder(1), 0u);
}

}  // namespace
}  // namespace ioc_exporter::puts
