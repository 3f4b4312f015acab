#include "puts/inventory/inventory.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/unique_fd.h"
#include "iocs/find/process_stat.h"
#include "server_reader_fixture.h"
#include "support/loopback.h"
#include "support/value_of.h"

namespace ioc_exporter::puts {
namespace {

using ::testing::FieldsAre;
using ::testing::HasSubstr;

constexpr layout::EventUserPlaces kPlaces = layout::kEventUserPlaces[0];

// Reads this process' memory, and counts how often it is asked for.
class CountingReader : public iocs::ProcessReader {
 public:
  CountingReader() : ProcessReader(RootedFs()) {}
  Result<std::unique_ptr<iocs::Memory>> memory(const iocs::IocId& id) override {
    ++asked;
    auto own = ProcessReader::memory(id);
    if (!own || !happens) return own;
    auto moving = std::make_unique<MovingMemory>(std::move(*own));
    moving->happens = happens;
    return std::unique_ptr<iocs::Memory>(std::move(moving));
  }
  std::function<void(int)> happens;
  std::atomic<int> asked = 0;
};

// A server whose connections are real, and whose tables are an image in this process.
class Inventory : public ::testing::Test {
 protected:
  struct Circuit {
    UniqueFd client, server;
    layout::RsrvClient* raw = nullptr;
    layout::EventFlags* flags = nullptr;
  };

  void SetUp() override {
    const auto stat = value_of(iocs::read_process_stat(RootedFs(), ::getpid()));
    server_ = {stat.id, "x", {image_.symbols()}, {port_of(listener_)}, 1, ""};
  }
  Circuit connect(const char* user, const char* host) {
    Circuit circuit{connected_to(listener_), {}};
    circuit.server = UniqueFd(::accept(listener_.get(), nullptr, nullptr));
    circuit.raw = &image_.add_client({127, 0, 0, 1}, port_of(circuit.client), user, host);
    circuit.flags = &image_.add_events(*circuit.raw, kPlaces);
    return circuit;
  }
  CaServerImage::Channel& open(const Circuit& circuit, int monitors) {
    const std::uint32_t id = next_id_++;
    const std::string name = "R:" + std::to_string(id);
    auto& channel = image_.add_channel(*circuit.raw, id, id, name, name, "VAL");
    channel.by_db_addr.common.eventq.count = monitors;
    return channel;
  }
  static void send_a_byte(const Circuit& circuit) {
    ASSERT_EQ(::send(circuit.client.get(), "x", 1, 0), 1);
    char byte;
    ASSERT_EQ(::recv(circuit.server.get(), &byte, 1, 0), 1);
  }
  // Counts of x and of another server by packets, completed from x' memory.
  PutsSamples look() {
    inventory_.look({server_});
    PutsSamples samples;
    for (const char* ioc : {"x", "y"}) {
      ServerSample& server = samples.servers.emplace_back();
      server.ioc = ioc;
      server.circuits = 99;
      server.gets = 7;
      samples.clients.push_back({ioc, "10.0.0.7", "packet", "h", 9, 9, 9});
    }
    inventory_.add_to(samples);
    return samples;
  }

  // Again, until it is so: a reading that took long on a busy host is followed by a rest.
  template <class Done>
  ServerSample look_until(Done done) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    for (;;) {
      const ServerSample x = look().servers[0];
      if (done(x) || std::chrono::steady_clock::now() >= until) return x;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  UniqueFd listener_ = listener_on_loopback();
  CaServerImage image_{ChannelLayout::by_db_channel};
  std::uint32_t next_id_ = 1;
  CaInventory::Server server_;
  std::shared_ptr<CountingReader> reader_ = std::make_shared<CountingReader>();
  CaInventory inventory_{RootedFs(), reader_};
};

TEST_F(Inventory, ListsOpenChannelsOfClients) {
  const Circuit first = connect("ann", "h1"), second = connect("ann", "h1"),
                silent = connect(nullptr, nullptr);
  image_.secure(open(first, 2), layout::kAsRead);
  image_.secure(open(first, 0), layout::kAsNoAccess);
  open(second, 5);
  second.flags->flow_control = 1;
  const PutsSamples samples = look();
  const ServerSample& x = samples.servers[0];
  EXPECT_TRUE(x.open_known && x.flow_control_known);
  EXPECT_EQ(x.circuits, 3u);
  EXPECT_EQ(x.channels, (std::array<std::uint64_t, 5>{1, 1, 0, 1, 0}));
  EXPECT_EQ(x.monitors, 7u);
  EXPECT_EQ(x.flow_controlled, 1u);
  EXPECT_EQ(x.gets, 7u) << "counted by packets";
  EXPECT_EQ(samples.servers[1].circuits, 99u) << "another server's are the packets'";
  ASSERT_EQ(samples.clients.size(), 3u);
  EXPECT_EQ(samples.clients[0].ioc, "y");
  const ClientSample &nobody = samples.clients[1], &ann = samples.clients[2];
  EXPECT_EQ(nobody.user + nobody.host, "");
  EXPECT_EQ(nobody.circuits, 1u);
  EXPECT_THAT(ann, FieldsAre("x", "127.0.0.1", "ann", "h1", 2u, 3u, 7u, false));
}

TEST_F(Inventory, WithoutConnectionsNoMemoryIsRead) {
  const PutsSamples samples = look();
  EXPECT_TRUE(samples.servers[0].open_known);
  EXPECT_EQ(samples.servers[0].circuits, 0u);
  EXPECT_EQ(reader_->asked, 0);
}

TEST_F(Inventory, IsReadTwiceAfterBytesCameAndThenRests) {
  const Circuit circuit = connect("ann", "h1");
  look_until([this](const auto&) { return reader_->asked >= 2; });
  for (int i = 0; i < 7; ++i) look();
  EXPECT_EQ(reader_->asked, 2);
  open(circuit, 3);
  send_a_byte(circuit);
  EXPECT_EQ(look_until([](const auto& x) { return x.monitors == 3; }).monitors, 3u);
  EXPECT_EQ(reader_->asked, 3) << "by the first reading";
  look_until([this](const auto&) { return reader_->asked >= 4; });
  for (int i = 0; i < 7; ++i) look();
  EXPECT_EQ(reader_->asked, 4);
  const Circuit other = connect("bob", "h2");
  EXPECT_EQ(look_until([](const auto& x) { return x.circuits == 2; }).circuits, 2u)
      << "a connection without a byte is news as well";
}

TEST_F(Inventory, WhereTheBytesAreNotKnownItIsReadNowAndThen) {
  const Circuit circuit = connect("ann", "h1");
  CaInventory by_files{RootedFs("/."), reader_};  // not known for the host's own root
  const auto circuits = [&] {
    by_files.look({server_});
    PutsSamples samples;
    samples.servers.emplace_back().ioc = "x";
    by_files.add_to(samples);
    return samples.servers[0].open_known ? samples.servers[0].circuits : 0;
  };
  const auto begun = std::chrono::steady_clock::now();
  while (circuits() != 1) std::this_thread::yield();
  for (int i = 0; i < 7; ++i) circuits();
  const int asked = reader_->asked;
  if (std::chrono::steady_clock::now() - begun < std::chrono::seconds(10)) {
    EXPECT_EQ(asked, 1);
  }
  const Circuit other = connect("bob", "h2");
  while (circuits() != 2) std::this_thread::yield();
}

TEST_F(Inventory, AnUnknownPlaceOfFlowControlLeavesThatOut) {
  const Circuit circuit = connect("ann", "h1");
  circuit.raw->events = 0;
  const ServerSample x = look().servers[0];
  EXPECT_EQ(x.circuits, 1u);
  EXPECT_TRUE(x.open_known);
  EXPECT_FALSE(x.flow_control_known);
}

TEST_F(Inventory, UnreadableFactsAreAbsentAndReported) {
  const Circuit circuit = connect("ann", "h1");
  open(circuit, 3);
  image_.bucket().mask = 100;
  const PutsSamples samples = look();
  EXPECT_FALSE(samples.servers[0].open_known || samples.servers[0].flow_control_known);
  EXPECT_EQ(only(samples.clients).ioc, "y") << "the packets' are not taken in their place";
  EXPECT_THAT(inventory_.problems().at("x"), HasSubstr("mask 0x64"));
  look();
  EXPECT_EQ(only(inventory_.drops()).second, 1u);
  image_.bucket().mask = 4095;
  while (!look().servers[0].open_known) std::this_thread::yield();
  EXPECT_EQ(look().servers[0].monitors, 3u);
  EXPECT_TRUE(inventory_.problems().empty());
}

TEST_F(Inventory, TablesThatChangeWheneverTheyAreReadAreNotTold) {
  const Circuit circuit = connect("ann", "h1");
  const std::string text(61, 'u');
  reader_->happens = [&](int reads) {
    circuit.raw->user = CaServerImage::address(text.c_str()) + static_cast<unsigned>(reads) % 61;
  };
  EXPECT_FALSE(look().servers[0].open_known);
  EXPECT_THAT(inventory_.problems().at("x"), HasSubstr("changed each time"));
}

TEST_F(Inventory, TheMemoryOfAStoppedIocIsLeftAlone) {
  const Circuit circuit = connect("ann", "h1");
  server_.left_alone = "it is stopped";
  EXPECT_FALSE(look().servers[0].open_known);
  EXPECT_EQ(reader_->asked, 0);
  EXPECT_EQ(inventory_.problems().at("x"), "it is stopped");
  server_.left_alone = "";
  EXPECT_EQ(look().servers[0].circuits, 1u);
}

TEST_F(Inventory, AnIocThatIsGoneIsForgotten) {
  look();
  server_.ioc = "z";
  PutsSamples samples = look();
  EXPECT_EQ(samples.servers[0].circuits, 99u) << "nothing is told of x any more";
}

}  // namespace
}  // namespace ioc_exporter::puts
