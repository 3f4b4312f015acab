// Puts that a CA server is asked for, in an IOC that this process is: who takes all the places that
// he can get costs no other a count.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "ca/witness_object.h"
#include "kernel/event_ring.h"
#include "kernel/ring_shares.h"
#include "pva_server.h"
#include "shared/putlog.h"
#include "shared/ring_shares.h"

namespace ioc_exporter::ca {
namespace {

// Entered as rsrv's functions are: header, payload, client.
extern "C" [[gnu::noinline, gnu::noclone]] void ca_test_write(const void*, const void*,
                                                              const void*) {
  asm volatile("# ca_test_write" ::: "memory");
}

struct Header {  // caHdrLargeArray
  std::uint32_t before[2] = {};
  std::uint32_t sid = 0;
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

class CaWitnessTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kRoom = 1024, kFlood = 3 * kRoom;
  static constexpr std::uint32_t kUser = IOCX_WITNESS_SHARE_USER + 7;

  void SetUp() override { start({}); }
  void start(const kernel::RingUse& ring) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to load BPF programs";
    auto loaded = CaWitnessObject::load(kRoom, ring);
    ASSERT_TRUE(loaded) << loaded.error().message();
    object_.emplace(std::move(*loaded));
    file_ = UniqueFd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    auto probe =
        object_->attach(WitnessProgram::write,
                        {file_.get(), "the test",
                         test::offset_of(reinterpret_cast<void*>(ca_test_write)), ::getpid()});
    ASSERT_TRUE(probe) << probe.error().message();
    probe_ = std::move(*probe);
    become(1, kUser);
  }
  // From now on this process is another IOC.
  void become(std::uint32_t generation, std::uint32_t user) {
    ASSERT_TRUE(object_->maps().rest.update(generation, {}, kernel::UpdateMode::any));
    iocx_witness_ioc config{};
    config.generation = generation;
    config.user = static_cast<std::uint16_t>(user);
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
      if (const auto& channel = object_->channels()[slot];
          channel.key.client == reinterpret_cast<std::uint64_t>(&client))
        puts += channel.puts[0];
    return puts;
  }
  std::uint32_t taken() const {
    std::uint32_t slots = 0;
    for (std::uint32_t slot = 0; slot < kRoom; ++slot)
      if (object_->channels()[slot].state != IOCX_WITNESS_FREE) ++slots;
    return slots;
  }
  std::uint64_t rest(std::uint32_t generation) const {
    auto rest = object_->maps().rest.lookup(generation);
    return rest && *rest ? (*rest)->puts[0] : 0;
  }
  void free_all() {
    for (std::uint32_t slot = 0; slot < kRoom; ++slot) {
      if (object_->channels()[slot].state == IOCX_WITNESS_FREE) continue;
      EXPECT_TRUE(object_->maps().slots.erase(object_->channels()[slot].key));
      EXPECT_TRUE(object_->give_slot(slot));
    }
  }

  std::optional<CaWitnessObject> object_;
  UniqueFd file_, probe_;
};

TEST_F(CaWitnessTest, OneWhoWritesToAllChannelsTakesNoCountFromAnother) {
  const Client greedy[] = {client({192, 0, 2, 66}), client({127, 0, 0, 1}, 50'000)};
  const Client others[] = {client({192, 0, 2, 7}), client({127, 0, 0, 1}, 50'001)};
  std::uint32_t first = 0;
  // Twice: the same again when all places are free.
  for (int round = 0; round < 2; ++round) {
    const std::uint64_t before = rest(1);
    for (const Client& one : greedy) put(one, kFlood);
    for (const Client& one : others) put(one, 20);
    for (const Client& one : others) EXPECT_EQ(puts_of(one), 40u);
    EXPECT_LT(taken(), kRoom * 3 / 4);
    EXPECT_EQ(puts_of(greedy[0]) + puts_of(greedy[1]) + rest(1) - before, 4u * kFlood);
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
    const char* const* db_channel = nullptr;
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

  const char* name = "A:setpoint";
  Channel channel;
  Item item{nullptr, &channel.sid, &channel};
  Item* table[2] = {};
  Bucket bucket{table};
  const Bucket* variable = &bucket;
};

// Whoever gets a client's memory when that one has gone, and names its channel, is not taken for
// it.
TEST_F(CaWitnessTest, AClientInTheMemoryOfAnotherIsNotThatOne) {
  Server server;
  iocx_witness_ioc config{};
  config.generation = 1;
  config.user = static_cast<std::uint16_t>(kUser);
  config.bucket = reinterpret_cast<std::uint64_t>(&server.variable);
  ASSERT_TRUE(object_->maps().iocs.update(static_cast<std::uint32_t>(::getpid()), config));
  Client here = client({192, 0, 2, 7});
  server.channel.client = &here;
  server.channel.db_channel = &server.name;
  server.channel.sid = 1;
  server.table[1] = &server.item;
  std::thread([&] { put(here, 1); }).join();  // which serves the first client
  ASSERT_EQ(taken(), 1u);
  ASSERT_EQ(object_->channels()[0].own, 1u);
  server.table[1] = nullptr;
  here = client({192, 0, 2, 66});
  std::thread([&] { put(here, 1); }).join();
  std::map<std::uint8_t, std::uint64_t> puts;
  for (std::uint32_t slot = 0; slot < kRoom; ++slot)
    if (const auto& channel = object_->channels()[slot]; channel.state != IOCX_WITNESS_FREE)
      puts[channel.key.address[3]] += channel.puts[0];
  EXPECT_EQ(puts, (std::map<std::uint8_t, std::uint64_t>{{7, 2}, {66, 2}}));
}

class PutsInTheRingTest : public CaWitnessTest {
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
  std::map<int, std::uint64_t> told() {
    std::map<int, std::uint64_t> told;
    const auto read = ring_->read(SIZE_MAX, [&](std::span<const std::byte> event) {
      iocx_putlog_event head;
      std::memcpy(&head, event.data(), sizeof head);
      ++told[head.address[3]];
      EXPECT_EQ(event.size(), kEvent);
      for (const std::uint32_t place :
           {IOCX_PUTLOG_IOC_OF(head.places), IOCX_PUTLOG_CLIENT_OF(head.places)})
        shares_.note_read(place, event.size());
    });
    EXPECT_TRUE(read);
    for (std::uint32_t place = 0; place < IOCX_PUTLOG_PLACES; ++place)
      EXPECT_EQ(shares_.held(place), 0u);
    return told;
  }

  kernel::RingShares shares_;
  std::optional<kernel::EventRing> ring_;
};

// Without a reader: what one has is what he gets.
TEST_F(PutsInTheRingTest, OneWhoWritesWithoutEndTakesNoPutFromAnother) {
  constexpr std::uint64_t kFlooding = 10'000;
  const std::uint64_t fits = kSize / iocx_ring_bytes(kEvent);
  Client greedy = client({192, 0, 2, 66}), quiet = client({192, 0, 2, 7}),
         elsewhere = client({192, 0, 2, 8});
  for (int round = 0; round < 2; ++round) {
    const kernel::LostEvents before = object_->lost_events();
    become(1, kUser);
    put(greedy, kFlooding / 2);
    const kernel::LostEvents lost = object_->lost_events();
    EXPECT_EQ(lost.no_room, 0u);
    put(quiet, 25);  // to the same IOC
    become(2, kUser);
    put(elsewhere, 25);
    EXPECT_EQ(object_->lost_events().all(), lost.all());
    auto puts = told();
    EXPECT_EQ(puts[66] + lost.no_share - before.no_share, kFlooding);
    EXPECT_GE(puts[66], fits * 3 / 4);
    EXPECT_LE(puts[66], fits * 3 / 4 + 2);
    EXPECT_EQ(puts[7], 50u);
    EXPECT_EQ(puts[8], 50u);
  }
}

// Who has many addresses, as on his own host, leaves something to other IOCs all the same.
TEST_F(PutsInTheRingTest, AnIocThatManyWriteToTakesNoPutFromAnother) {
  for (std::uint8_t i = 0; i < 200; ++i) {
    const Client one = client({10, 9, 0, i});
    put(one, 25);
  }
  const kernel::LostEvents lost = object_->lost_events();
  EXPECT_GT(lost.no_share, 0u);
  EXPECT_EQ(lost.no_room, 0u);
  become(2, kUser);
  const Client other = client({192, 0, 2, 250});
  put(other, 15);
  EXPECT_EQ(object_->lost_events().all(), lost.all());
  auto puts = told();
  EXPECT_EQ(puts[250], 30u);
  std::uint64_t all = 0;
  for (const auto& [address, count] : puts) all += count;
  EXPECT_EQ(all + lost.all(), 200u * 50 + 30);
}

// As with an IOC that is no friend: its clients are what it says.
TEST_F(CaWitnessTest, AnIocOrAUserWithManyTakesNoCountFromAnother) {
  std::vector<Client> made_up;
  for (std::uint32_t i = 0; i < 200; ++i)
    made_up.push_back(client({10, 9, 0, static_cast<std::uint8_t>(i)}));
  for (std::uint32_t generation = 1; generation <= 8; ++generation) {
    become(generation, kUser);
    for (const Client& one : made_up) put(one, 30);
  }
  EXPECT_LE(taken(), kRoom * 7 / 8);
  become(9, kUser + 1);
  const Client other = client({192, 0, 2, 7});
  put(other, 10);
  EXPECT_EQ(puts_of(other), 20u);
  EXPECT_EQ(rest(9), 0u);
}

}  // namespace
}  // namespace ioc_exporter::ca
