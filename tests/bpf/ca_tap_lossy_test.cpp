// Real TCP between two network namespaces over a link that loses, reorders and repeats packets:
// the tap of the server's namespace counts exactly the puts that its server reads.
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "bpf/ca_tap_network_fixture.h"
#include "tools/lossy_link.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;

constexpr const char* kClientAddress = "10.8.0.1";
constexpr const char* kServerAddress = "10.8.0.2";
constexpr std::uint32_t kKinds = 3;  // a double, a string, an array

UniqueFd tcp_socket() {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  constexpr timeval kTimeout{60, 0};
  EXPECT_EQ(::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &kTimeout, sizeof kTimeout), 0);
  EXPECT_EQ(::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &kTimeout, sizeof kTimeout), 0);
  return fd;
}

void send_all(const UniqueFd& fd, const Bytes& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = ::send(fd.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    ASSERT_GT(n, 0) << std::strerror(errno);
    sent += static_cast<std::size_t>(n);
  }
}

// Reads until the peer's end; how many bytes.
std::size_t read_all(const UniqueFd& fd) {
  Bytes buffer(1 << 16);
  std::size_t sum = 0;
  for (;;) {
    const ssize_t n = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
    EXPECT_GE(n, 0) << std::strerror(errno);
    if (n <= 0) return sum;
    sum += static_cast<std::size_t>(n);
  }
}

// Channels CID = SID - 100 of one client.
Bytes requests(const std::string& user) {
  Bytes bytes = version() + host_name("h") + client_name(user);
  for (std::uint32_t i = 0; i < kKinds; ++i)
    bytes = std::move(bytes) + create(i, "PV" + std::to_string(i));
  return bytes;
}
Bytes answers() {
  Bytes bytes = version();
  for (std::uint32_t i = 0; i < kKinds; ++i) bytes = std::move(bytes) + created(i, 100 + i);
  return bytes;
}
Bytes put_of(std::uint32_t kind) {
  if (kind == 0) return write(100);
  if (kind == 1) return message(4, 0, 1, 101, 0, text("a string of some length"));
  return message(4, 6, 40, 102, 0, Bytes(320, 1));
}
Bytes puts_of_each_kind() {
  return put_of(0) + put_of(1) + put_of(2);
}

struct Case {
  std::uint32_t clients;
  std::uint32_t rounds;  // of kKinds puts, each client's
  LossyRates rates;
};

class CaTapLossyTest : public CaTapNetworkTest {
 protected:
  void connect(const LossyRates& rates, std::uint32_t seed) {
    auto a = open_tun(client_->fd(), "lossy0", kClientAddress);
    auto b = open_tun(server_->fd(), "lossy0", kServerAddress);
    if (!a || !b) GTEST_SKIP() << (a ? b : a).error().message();
    link_.emplace(std::move(*a), std::move(*b), rates, seed);
  }
  void SetUp() override {
    CaTapNetworkTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    client_.emplace(NetNamespace::make());
    server_.emplace(NetNamespace::make());
  }
  // The client's side: puts that nobody answers, then its end.
  void send_puts(std::uint32_t number, std::uint16_t port, std::uint32_t rounds) {
    UniqueFd fd;
    client_->run([&fd] { fd = tcp_socket(); });
    const sockaddr_in to = ipv4(kServerAddress, port);
    ASSERT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0)
        << std::strerror(errno);
    send_all(fd, requests("user" + std::to_string(number)));
    Bytes answer(answers().size());
    ASSERT_EQ(::recv(fd.get(), answer.data(), answer.size(), MSG_WAITALL),
              static_cast<ssize_t>(answer.size()));
    const Bytes some = repeat(puts_of_each_kind(), 100);
    for (std::uint32_t sent = 0; sent < rounds; sent += 100)
      send_all(fd, rounds - sent >= 100 ? some : repeat(puts_of_each_kind(), rounds - sent));
    ASSERT_EQ(::shutdown(fd.get(), SHUT_WR), 0);
    EXPECT_EQ(read_all(fd), 0u);
  }
  // The server's: one client, until its end.
  void serve(const UniqueFd& fd, std::uint32_t rounds) {
    Bytes request(requests("user0").size());
    ASSERT_EQ(::recv(fd.get(), request.data(), request.size(), MSG_WAITALL),
              static_cast<ssize_t>(request.size()));
    send_all(fd, answers());
    EXPECT_EQ(read_all(fd), puts_of_each_kind().size() * rounds);
  }
  // Returns when all clients have been served.
  void flood(const Case& one) {
    const Listener listener(kServerAddress, 0, server_->fd());
    enter(*server_);
    watch(listener);
    std::vector<std::jthread> threads;  // which end before this returns
    for (std::uint32_t i = 0; i < one.clients; ++i)
      threads.emplace_back(
          [this, i, &listener, &one] { send_puts(i, listener.port(), one.rounds); });
    for (std::uint32_t i = 0; i < one.clients; ++i) {
      UniqueFd fd(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
      ASSERT_GE(fd.get(), 0);
      threads.emplace_back([this, &one, served = std::move(fd)] { serve(served, one.rounds); });
    }
  }
  // The tap gives up a segment when another CPU holds the lock of its stream for too long, as one
  // of a virtual machine may that does not run. It says so, and how much it has not read.
  void expect_counted_or_told(const Case& one) {
    std::uint64_t missing = 0;  // bytes
    for (std::uint32_t i = 0; i < one.clients; ++i)
      for (std::uint32_t kind = 0; kind < kKinds; ++kind) {
        const auto counted =
            puts("PV" + std::to_string(kind), PutOp::write, "user" + std::to_string(i));
        EXPECT_LE(counted, one.rounds) << "client " << i << ", kind " << kind;
        missing += (one.rounds - counted) * put_of(kind).size();
      }
    auto drops = all_drops();
    EXPECT_GT(std::exchange(drops[IOCX_CA_DROP_HOLE_FILLED], 0), 0u);
    if (drops[IOCX_CA_DROP_BUSY] > 0) {
      // Of a header that a gap cuts in two, the bytes before it were read.
      EXPECT_LE(missing,
                collect().servers.at(0).unread_bytes + drops[IOCX_CA_DROP_GAP] * IOCX_CA_HEADER);
      return;
    }
    EXPECT_EQ(missing, 0u);
    EXPECT_EQ(all_puts(), std::uint64_t{one.clients} * one.rounds * kKinds);
    EXPECT_THAT(drops, ::testing::Each(0u));
  }
  void run(const Case& one, std::uint32_t seed) {
    connect(one.rates, seed);
    if (IsSkipped()) return;
    flood(one);
    const LossyCounts link = link_->stop();
    SCOPED_TRACE("seen " + std::to_string(link.seen) + ", lost " + std::to_string(link.lost) +
                 ", reordered " + std::to_string(link.reordered) + ", duplicated " +
                 std::to_string(link.duplicated));
    EXPECT_EQ(link.lost > 0, one.rates.loss > 0);
    EXPECT_GT(link.reordered, 0u);
    EXPECT_GT(link.duplicated, 0u);
    expect_counted_or_told(one);
    reap();
    EXPECT_EQ(entries("ca_pages"), 0u);
  }

  std::optional<NetNamespace> client_, server_;
  std::optional<LossyLink> link_;
};

TEST_F(CaTapLossyTest, OnePacketInAThousand) {
  run({2, 100003, {0.1, 0.1, 0.1}}, 1);
}
TEST_F(CaTapLossyTest, FivePercent) {
  run({4, 1009, {5, 5, 5}}, 5);
}
TEST_F(CaTapLossyTest, OutOfOrderOnly) {
  run({1, 20011, {0, 20, 5}}, 7);
}

}  // namespace
