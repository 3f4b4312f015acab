// Lines over TCP to a receiver that is slow, away, or killed.
#include "putlog/tcp_sink.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <functional>
#include <set>
#include <thread>

#include <nlohmann/json.hpp>

#include "events.h"
#include "putlog/sink.h"
#include "support/loopback.h"

namespace ioc_exporter::putlog {
namespace {

using namespace std::chrono_literals;

class Receiver {
 public:
  explicit Receiver(std::uint16_t port = 0, int room = 32 << 10) {
    listener_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    // `room`: bytes that it has not read, and are lost with it.
    ::setsockopt(listener_.get(), SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    listen_on_loopback(listener_, port);
    port_ = port_of(listener_);
  }
  std::uint16_t port() const { return port_; }
  std::unique_ptr<TcpSink> sink(LineFormat format = LineFormat::full) const {
    return std::make_unique<TcpSink>("127.0.0.1", std::to_string(port_), format);
  }
  // Reads until `enough` says so. False: nothing came for long.
  bool read_until(const std::function<bool()>& enough) {
    for (int silent = 0; !enough();) {
      pollfd entry{stream_ ? stream_.get() : listener_.get(), POLLIN, 0};
      if (::poll(&entry, 1, 50) <= 0) {
        if (++silent > 600) return false;
        continue;
      }
      if (!stream_) {
        stream_ = UniqueFd(::accept(listener_.get(), nullptr, nullptr));
        continue;
      }
      char bytes[4096];
      const ssize_t got = ::recv(stream_.get(), bytes, sizeof bytes, 0);
      if (got > 0) {
        add({bytes, static_cast<std::size_t>(got)});
        continue;
      }
      stream_.reset();
      half_.clear();  // of a line
    }
    return true;
  }

  std::vector<std::string> lines;

 private:
  void add(std::string_view bytes) {
    half_ += bytes;
    for (std::size_t end; (end = half_.find('\n')) != std::string::npos; half_.erase(0, end + 1))
      lines.push_back(half_.substr(0, end));
  }

  UniqueFd listener_, stream_;
  std::uint16_t port_ = 0;
  std::string half_;
};

SinkSetup setup(const Receiver& receiver) {
  SinkSetup setup;
  setup.name = "tcp";
  setup.window = 0ms;
  setup.sink = receiver.sink();
  return setup;
}

TEST(TcpSinkTest, SendsLinesInCaPutLogsFormat) {
  Receiver receiver;
  const auto sink = receiver.sink(LineFormat::caputlog);
  std::thread sends([&] { EXPECT_EQ(sink->deliver(entries(1, 3)).entries, 3u); });
  EXPECT_TRUE(receiver.read_until([&] { return receiver.lines.size() == 3; }));
  sends.join();
  EXPECT_EQ(nlohmann::json::parse(receiver.lines[0]).at("new"), 1.5);
}

TEST(TcpSinkTest, NobodyThereIsAProblem) {
  std::uint16_t port = 0;
  {
    const Receiver gone;
    port = gone.port();
  }
  TcpSink sink("127.0.0.1", std::to_string(port), LineFormat::full);
  const auto done = sink.deliver(entries(1, 3));
  EXPECT_EQ(done.entries, 0u);
  ASSERT_TRUE(done.problem);
  EXPECT_EQ(done.problem->code, std::errc::connection_refused);
}

TEST(TcpSinkTest, UnacknowledgedLinesAreSentAgain) {
  constexpr std::size_t kPuts = 200;
  auto receiver = std::make_unique<Receiver>(0, 4096);  // less than is sent at a time
  const auto sink = receiver->sink();
  const auto all = entries(1, kPuts);
  std::size_t delivered = 0;
  std::thread sends([&] {
    for (int i = 0; i < 6000 && delivered < kPuts; ++i) {
      delivered += sink->deliver(std::span(all).subspan(delivered)).entries;
      std::this_thread::sleep_for(10ms);
    }
  });
  EXPECT_TRUE(receiver->read_until([&] { return receiver->lines.size() >= 3; }));
  const std::uint16_t port = receiver->port();
  receiver.reset();
  Receiver next(port);
  EXPECT_TRUE(next.read_until([&] { return next.lines.size() >= kPuts; }));
  sends.join();
  EXPECT_EQ(delivered, kPuts);
  ASSERT_EQ(next.lines.size(), kPuts);
  for (std::size_t i = 0; i < kPuts; ++i)
    EXPECT_EQ(nlohmann::json::parse(next.lines[i]).at("seq"), i + 1);
}

// It takes the connection, and reads nothing: what is in nobody's hands is not delivered.
TEST(TcpSinkTest, AReceiverThatDoesNotReadCostsTheQueueAlone) {
  const Receiver receiver;
  SinkSetup one = setup(receiver);
  one.queue.events = 20'000;
  delivery::SinkAccount account;
  SinkRunner runner(std::move(one), account);
  runner.start();
  std::uint64_t sent = 0;
  do {
    std::vector<SharedEvent> some;
    for (PutEvent& each : events(sent + 1, 1000)) some.push_back(shared(std::move(each)));
    runner.receive(some);
    sent += 1000;
  } while (account.queue_full == 0);
  EXPECT_LT(account.done(), sent);
}

TEST(TcpSinkTest, AReceiverThatTakesNothingIsTold) {
  const Receiver receiver(0, 4096);
  const auto sink = receiver.sink();
  const auto all = entries(1, 5'000);
  Sink::Delivered done;
  std::size_t delivered = 0;
  for (int i = 0; i < 30 && !done.problem; ++i) {
    done = sink->deliver(std::span(all).subspan(delivered));
    delivered += done.entries;
  }
  ASSERT_TRUE(done.problem);
  EXPECT_TRUE(done.problem->message().ends_with(": it takes nothing"));
  EXPECT_EQ(done.refused, 0u);
  EXPECT_LT(delivered, all.size());
}

TEST(TcpSinkTest, AReceiverThatIsKilledInAFloodAndComesBackHasAllThatFitsTheQueue) {
  auto receiver = std::make_unique<Receiver>();
  const std::uint16_t port = receiver->port();
  SinkSetup one = setup(*receiver);
  one.queue = {.events = 1'000'000, .bytes = 1u << 30};
  delivery::SinkAccount account;
  SinkRunner runner(std::move(one), account);
  runner.start();
  constexpr std::uint64_t kPuts = 8'000;
  std::thread flood([&] {
    for (std::uint64_t seq = 1; seq <= kPuts; seq += 100) {
      std::vector<SharedEvent> some;
      for (PutEvent& each : events(seq, 100)) some.push_back(shared(std::move(each)));
      runner.receive(some);
    }
  });
  std::set<std::uint64_t> seen;
  const auto note = [&] {
    for (const std::string& line : receiver->lines)
      seen.insert(nlohmann::json::parse(line).at("seq").get<std::uint64_t>());
    receiver->lines.clear();
  };
  for (int round = 0; round < 3; ++round) {
    const std::size_t before = receiver->lines.size();
    EXPECT_TRUE(receiver->read_until([&] { return receiver->lines.size() >= before + 500; }));
    note();
    receiver.reset();
    receiver = std::make_unique<Receiver>(port);
  }
  flood.join();
  EXPECT_TRUE(receiver->read_until([&] {
    note();
    return seen.contains(kPuts);
  }));
  for (int i = 0; i < 6000 && account.done() < kPuts; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(account.delivered, kPuts);
  // But for what its host had taken, and it had not read, each time.
  EXPECT_GE(seen.size(), kPuts - 3 * 1000);
}

}  // namespace
}  // namespace ioc_exporter::putlog
