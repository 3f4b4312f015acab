#include "tools/lossy_link.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <optional>
#include <random>
#include <vector>

#include "support/in_net_namespace.h"

namespace ioc_exporter::testing {
namespace {

using Clock = std::chrono::steady_clock;
using Packet = std::vector<std::uint8_t>;
constexpr std::chrono::milliseconds kHeldFor{3};
constexpr std::size_t kLargest = 65536;

sockaddr ipv4(const std::string& text) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, text.c_str(), &address.sin_addr);
  sockaddr generic{};
  std::memcpy(&generic, &address, sizeof address);
  return generic;
}

Result<UniqueFd> open_tun_here(const std::string& name, const std::string& address) {
  UniqueFd tun(::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!tun) return last_error("open /dev/net/tun");
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  if (::ioctl(tun.get(), TUNSETIFF, &request) != 0) return last_error("make TUN device " + name);
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return last_error("open a socket to set up " + name);
  request.ifr_addr = ipv4(address);
  if (::ioctl(socket.get(), SIOCSIFADDR, &request) != 0)
    return last_error("set address of " + name);
  request.ifr_netmask = ipv4("255.255.255.0");
  if (::ioctl(socket.get(), SIOCSIFNETMASK, &request) != 0)
    return last_error("set network of " + name);
  request.ifr_qlen = 10000;  // nothing is lost but by choice
  if (::ioctl(socket.get(), SIOCSIFTXQLEN, &request) != 0)
    return last_error("set queue of " + name);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) return last_error("set " + name + " up");
  return tun;
}

// One direction of the link.
class Way {
 public:
  Way(int to, const LossyRates& rates, std::uint32_t seed)
      : to_(to), rates_(rates), random_(seed) {}

  void carry(Packet packet, LossyCounts& counts) {
    ++counts.seen;
    // All are drawn for every packet, so that one rate does not move the others' choices.
    const double lost = percent_(random_), reordered = percent_(random_),
                 repeated = percent_(random_);
    const unsigned others = 1 + static_cast<unsigned>(random_() % 8);
    if (lost < rates_.loss) {
      ++counts.lost;
      return;
    }
    if (reordered < rates_.reorder) {
      ++counts.reordered;
      held_.push_back({std::move(packet), others, Clock::now() + kHeldFor});
      return;
    }
    send(packet);
    if (repeated < rates_.duplicate) {
      ++counts.duplicated;
      send(packet);
    }
    for (auto& held : held_)
      if (held.others > 0) --held.others;
    release(Clock::now());
  }
  void release(Clock::time_point now) {
    for (auto held = held_.begin(); held != held_.end();) {
      if (held->others > 0 && now < held->until) {
        ++held;
        continue;
      }
      send(held->packet);
      held = held_.erase(held);
    }
  }
  bool holds() const { return !held_.empty(); }

 private:
  struct Held {
    Packet packet;
    unsigned others;  // that are still to pass before it
    Clock::time_point until;
  };
  // A packet that the device does not take is one more that is lost.
  void send(const Packet& packet) const {
    [[maybe_unused]] const ssize_t sent = ::write(to_, packet.data(), packet.size());
  }

  int to_;
  LossyRates rates_;
  std::mt19937 random_;
  std::uniform_real_distribution<double> percent_{0, 100};
  std::deque<Held> held_;
};

}  // namespace

Result<UniqueFd> open_tun(int ns_fd, const std::string& name, const std::string& address) {
  std::optional<Result<UniqueFd>> opened;
  auto entered = in_net_namespace(ns_fd, [&] { opened.emplace(open_tun_here(name, address)); });
  if (!entered) return std::move(entered).error();
  return std::move(*opened);
}

LossyLink::LossyLink(UniqueFd a, UniqueFd b, const LossyRates& rates, std::uint32_t seed)
    : ends_{std::move(a), std::move(b)},
      wake_(::eventfd(0, EFD_CLOEXEC)),
      thread_([this, rates, seed] { run(rates, seed); }) {}

LossyCounts LossyLink::stop() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
    thread_.join();
  }
  return counts_;
}

void LossyLink::run(LossyRates rates, std::uint32_t seed) {
  Way ways[] = {Way(ends_[1].get(), rates, seed), Way(ends_[0].get(), rates, seed + 1)};
  pollfd ready[] = {
      {ends_[0].get(), POLLIN, 0}, {ends_[1].get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  Packet buffer(kLargest);
  for (;;) {
    const bool holds = ways[0].holds() || ways[1].holds();
    ::poll(ready, 3, holds ? 1 : -1);
    if (ready[2].revents != 0) return;
    for (int end = 0; end < 2; ++end) {
      const ssize_t size = ::read(ends_[end].get(), buffer.data(), buffer.size());
      if (size > 0) ways[end].carry(Packet(buffer.begin(), buffer.begin() + size), counts_);
      ways[end].release(Clock::now());
    }
  }
}

}  // namespace ioc_exporter::testing
