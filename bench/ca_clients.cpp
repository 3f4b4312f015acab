// Many Channel Access clients in one process, on raw sockets: circuits that come and go at a fixed
// rate, or as many channels at once as are asked for. Says how many puts it has sent.
//
//   ca_clients PORT churn SECONDS PER_MINUTE PVS
//   ca_clients PORT hold CIRCUITS CHANNELS_EACH PVS
//
// PVs are LIFE:0 ... LIFE:<PVS - 1>. churn: a circuit opens 5 channels, puts 7 times to each,
// clears some of them, and goes, by FIN and by RST in turn. hold: prints "@open" when all channels
// are there, puts once to each for every line on stdin and prints "@sent", and goes at its end. At
// the end: "puts N".
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "unit/puts/bytes.h"

namespace {

using namespace ioc_exporter;
using namespace ioc_exporter::testing;

constexpr std::uint32_t kCreateChannel = 18, kCreateFailed = 26;

std::uint32_t u16(const std::uint8_t* at) {
  return at[0] * 256u + at[1];
}
std::uint32_t u32(const std::uint8_t* at) {
  return u16(at) * 65536u + u16(at + 2);
}

class Client {
 public:
  Client(std::uint16_t port, const std::string& user)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in server{};
    server.sin_family = AF_INET;
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server.sin_port = htons(port);
    if (::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&server), sizeof server) != 0)
      throw std::runtime_error("connect to the IOC failed");
    send(version() + host_name("bench") + client_name(user));
  }

  // Channels that read the PVs from `first` on.
  void open(std::uint32_t channels, std::uint32_t first, std::uint32_t pvs) {
    constexpr std::uint32_t kAtOnce = 200;
    for (std::uint32_t done = 0; done < channels; done += kAtOnce) {
      Bytes requests;
      const std::uint32_t end = std::min(channels, done + kAtOnce);
      for (std::uint32_t cid = done; cid < end; ++cid)
        requests = requests + create(cid, "LIFE:" + std::to_string((first + cid) % pvs));
      send(requests);
      while (sids_.size() < end) receive();
    }
  }
  std::uint64_t put(std::uint64_t times) {
    Bytes puts;
    for (const std::uint32_t sid : sids_) puts = puts + repeat(write(sid), times);
    send(puts);
    return sids_.size() * times;
  }
  void clear_half() {
    for (std::uint32_t cid = 0; cid < sids_.size(); cid += 2) send(clear(sids_[cid], cid));
  }
  // The server answers in turn: it has done all that came before.
  void wait_done() {
    send(message(23, 0, 0, 0, 0));
    echoes_ = 0;
    while (echoes_ == 0) receive();
  }
  void reset() {
    const linger at_once{1, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }

 private:
  void send(const Bytes& bytes) {
    for (std::size_t sent = 0; sent < bytes.size();) {
      const ssize_t n = ::send(fd_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) throw std::runtime_error("send to the IOC failed");
      sent += static_cast<std::size_t>(n);
    }
  }
  void receive() {
    std::uint8_t buffer[65536];
    const ssize_t n = ::recv(fd_.get(), buffer, sizeof buffer, 0);
    if (n <= 0) throw std::runtime_error("the IOC closed a circuit");
    answer_.insert(answer_.end(), buffer, buffer + n);
    std::size_t at = 0;
    while (answer_.size() - at >= 16) {
      const std::uint8_t* header = answer_.data() + at;
      const std::size_t total = 16 + u16(header + 2);
      if (answer_.size() - at < total) break;
      if (u16(header) == kCreateFailed) throw std::runtime_error("the IOC has no such PV");
      if (u16(header) == kCreateChannel) sids_.push_back(u32(header + 12));
      if (u16(header) == 23) ++echoes_;
      at += total;
    }
    answer_.erase(answer_.begin(), answer_.begin() + static_cast<std::ptrdiff_t>(at));
  }

  UniqueFd fd_;
  Bytes answer_;
  std::vector<std::uint32_t> sids_;
  int echoes_ = 0;
};

std::uint64_t churn(std::uint16_t port, double seconds, double per_minute, std::uint32_t pvs) {
  using Clock = std::chrono::steady_clock;
  constexpr std::uint32_t kThreads = 4;
  const auto total = static_cast<std::uint64_t>(per_minute * seconds / 60);
  const auto start = Clock::now();
  std::atomic<std::uint64_t> puts{0}, next{0};
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (std::uint64_t number; (number = next++) < total;) {
        const std::chrono::duration<double> due(static_cast<double>(number) * 60 / per_minute);
        std::this_thread::sleep_until(start + std::chrono::duration_cast<Clock::duration>(due));
        Client client(port, "user" + std::to_string(number % 7));
        client.open(5, static_cast<std::uint32_t>(number), pvs);
        puts += client.put(7);
        client.clear_half();
        client.wait_done();
        if (number % 2) client.reset();
      }
    });
  for (std::thread& thread : threads) thread.join();
  const std::chrono::duration<double> took = Clock::now() - start;
  std::printf("circuits %llu in %.1f s\n", static_cast<unsigned long long>(total), took.count());
  return puts;
}

std::uint64_t hold(std::uint16_t port, std::uint32_t circuits, std::uint32_t each,
                   std::uint32_t pvs) {
  std::vector<std::unique_ptr<Client>> clients;
  for (std::uint32_t i = 0; i < circuits; ++i) {
    clients.push_back(std::make_unique<Client>(port, "user" + std::to_string(i)));
    clients.back()->open(each, 0, pvs);
  }
  std::printf("@open\n");
  std::fflush(stdout);
  std::uint64_t puts = 0;
  for (int c = 0; (c = std::getchar()) != EOF;) {
    if (c != '\n') continue;
    for (auto& client : clients) {
      puts += client->put(1);
      client->wait_done();
    }
    std::printf("@sent\n");
    std::fflush(stdout);
  }
  return puts;
}

std::uint64_t number(const char* text) {
  return std::strtoull(text, nullptr, 10);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr,
                 "usage: ca_clients PORT churn SECONDS PER_MINUTE PVS\n"
                 "       ca_clients PORT hold CIRCUITS CHANNELS_EACH PVS\n");
    return 2;
  }
  try {
    const auto port = static_cast<std::uint16_t>(number(argv[1]));
    const auto pvs = static_cast<std::uint32_t>(number(argv[5]));
    const std::uint64_t puts =
        std::string(argv[2]) == "churn"
            ? churn(port, std::strtod(argv[3], nullptr), std::strtod(argv[4], nullptr), pvs)
            : hold(port, static_cast<std::uint32_t>(number(argv[3])),
                   static_cast<std::uint32_t>(number(argv[4])), pvs);
    std::printf("puts %llu\n", static_cast<unsigned long long>(puts));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ca_clients: %s\n", error.what());
    return 1;
  }
  return 0;
}
