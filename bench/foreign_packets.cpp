// The cost of a packet that is no Channel Access: the tap's filter against one that only
// returns 0, by the kernel's own count of their run time (bpf_stats). Prints medians of interleaved
// rounds.
//
//   foreign_packets [--rounds N] [--messages N]
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "puts/tap/packet_tap.h"
#include "puts/tap/tap_object.h"
#include "support/in_net_namespace.h"

namespace {

using namespace ioc_exporter;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "foreign_packets: %s\n", what.c_str());
  std::exit(1);
}
[[noreturn]] void die_of_errno(const std::string& what) {
  die(last_error(what).message());
}

void in(const UniqueFd& ns, const std::function<void()>& work) {
  if (auto ok = testing::in_net_namespace(ns.get(), work); !ok) die(ok.error().message());
}

UniqueFd new_namespace() {
  UniqueFd ns;
  std::thread([&ns] {
    if (::unshare(CLONE_NEWNET) == 0) ns.reset(::open("/proc/thread-self/ns/net", O_RDONLY));
  }).join();
  if (!ns) die_of_errno("make a network namespace");
  return ns;
}

void command(const UniqueFd& ns, const std::string& line) {
  in(ns, [&line] {
    if (std::system(line.c_str()) != 0) die("failed: " + line);
  });
}

sockaddr_in6 address(const std::string& text, std::uint16_t port) {
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(port);
  if (::inet_pton(AF_INET6, text.c_str(), &to.sin6_addr) != 1) die("no address: " + text);
  return to;
}

// A TCP connection over which short messages go to and fro. IPv4 addresses as ::ffff:a.b.c.d.
class Connection {
 public:
  Connection(const UniqueFd& client_ns, const UniqueFd& server_ns, const std::string& server) {
    UniqueFd listener;
    const sockaddr_in6 any = address("::", kPort), peer = address(server, kPort);
    constexpr int kOn = 1;
    in(server_ns, [&] { listener.reset(::socket(AF_INET6, SOCK_STREAM, 0)); });
    in(client_ns, [&] { client_.reset(::socket(AF_INET6, SOCK_STREAM, 0)); });
    ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof kOn);
    if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0 ||
        ::listen(listener.get(), 1) != 0)
      die_of_errno("listen");
    if (::connect(client_.get(), reinterpret_cast<const sockaddr*>(&peer), sizeof peer) != 0)
      die_of_errno("connect to " + server);
    server_.reset(::accept(listener.get(), nullptr, nullptr));
    for (const UniqueFd* fd : {&client_, &server_})
      ::setsockopt(fd->get(), IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof kOn);
  }
  void exchange(int messages) const {
    for (int i = 0; i < messages; ++i) {
      pass(client_, server_);
      pass(server_, client_);
    }
  }

 private:
  static constexpr std::uint16_t kPort = 8080;
  static void pass(const UniqueFd& from, const UniqueFd& to) {
    char bytes[100] = "";
    if (::send(from.get(), bytes, sizeof bytes, 0) != sizeof bytes ||
        ::recv(to.get(), bytes, sizeof bytes, MSG_WAITALL) != sizeof bytes)
      die_of_errno("exchange messages");
  }
  UniqueFd client_, server_;
};

kernel::ProgramStats stats_of(int program) {
  bpf_prog_info info{};
  std::uint32_t length = sizeof info;
  if (bpf_obj_get_info_by_fd(program, &info, &length) != 0) die_of_errno("read bpf_stats");
  return {info.run_cnt, info.run_time_ns};
}

// A filter on a packet socket of a namespace, for one round.
class Filters {
 public:
  Filters() : object_(load_object()), tap_(object_.shared_maps()) {
    const bpf_insn nothing[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0},
                                {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
    empty_.reset(bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "empty_filter", "Dual BSD/GPL", nothing,
                               std::size(nothing), nullptr));
    if (!empty_) die_of_errno("load a filter that returns 0");
  }
  void attach(const UniqueFd& ns, bool tap) {
    in(ns, [&] {
      if (!tap)
        socket_ = attach_empty();
      else if (auto opened = tap_.open(); !opened)
        die(opened.error().message());
    });
  }
  void detach() {
    socket_.reset();
    tap_.close();
  }
  kernel::ProgramStats stats(bool tap) const {
    if (!tap) return stats_of(empty_.get());
    return tap_.stats().value_or(kernel::ProgramStats{});
  }

 private:
  static puts::TapObject load_object() {
    auto object = puts::TapObject::load({});
    if (!object) die(object.error().message());
    // CA's own ports are watched, as on a host with an IOC.
    for (const unsigned port : {5064u, 5065u})
      object->watched_ports().words[port / 64] |= std::uint64_t{1} << (port % 64);
    return std::move(*object);
  }
  UniqueFd attach_empty() const {
    UniqueFd socket(::socket(AF_PACKET, SOCK_DGRAM, 0));
    const int program = empty_.get();
    sockaddr_ll everywhere{};
    everywhere.sll_family = AF_PACKET;
    everywhere.sll_protocol = htons(ETH_P_ALL);
    if (::setsockopt(socket.get(), SOL_SOCKET, SO_ATTACH_BPF, &program, sizeof program) != 0 ||
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&everywhere), sizeof everywhere) !=
            0)
      die_of_errno("attach a filter that returns 0");
    return socket;
  }

  puts::TapObject object_;
  puts::PacketTap tap_;
  UniqueFd empty_, socket_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

struct Path {
  const char* name;
  const Connection& connection;
  const UniqueFd& observed;
};

void measure(Filters& filters, const Path& path, int rounds, int messages) {
  std::vector<double> empty, tap, ratios;
  for (int round = 0; round < rounds; ++round) {
    double ns[2] = {};
    for (int turn = 0; turn < 2; ++turn) {
      const bool is_tap = (turn + round) % 2 != 0;
      filters.attach(path.observed, is_tap);
      path.connection.exchange(messages / 10);
      const auto before = filters.stats(is_tap);
      path.connection.exchange(messages);
      const auto after = filters.stats(is_tap);
      filters.detach();
      if (after.runs == before.runs) die("the filter did not run: is bpf_stats off?");
      ns[is_tap] = static_cast<double>(after.run_time_ns - before.run_time_ns) /
                   static_cast<double>(after.runs - before.runs);
    }
    empty.push_back(ns[0]);
    tap.push_back(ns[1]);
    ratios.push_back(ns[1] / ns[0]);
  }
  std::printf("%-16s %8.1f %8.1f %8.2f\n", path.name, median(empty), median(tap), median(ratios));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  int rounds = 21, messages = 20000;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--rounds") == 0) rounds = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--messages") == 0) messages = std::atoi(argv[i + 1]);
  }
  if (rounds < 1 || messages < 10) die("usage: foreign_packets [--rounds N] [--messages N]");
  const UniqueFd stats(bpf_enable_stats(BPF_STATS_RUN_TIME));
  if (!stats) die_of_errno("switch bpf_stats on (Linux 5.8, root)");
  const UniqueFd here = new_namespace(), there = new_namespace();
  const std::string there_path =
      "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(there.get());
  command(here,
          "ip link set lo up && ip link add veth0 type veth peer name veth0 netns " + there_path);
  command(here, "ip addr add 10.7.0.1/24 dev veth0 && ip addr add fd07::1/64 dev veth0 nodad");
  command(there, "ip addr add 10.7.0.2/24 dev veth0 && ip addr add fd07::2/64 dev veth0 nodad");
  for (const UniqueFd* one : {&here, &there}) command(*one, "ip link set veth0 up");

  Filters filters;
  const Connection loopback_v4(here, here, "::ffff:127.0.0.1");
  const Connection loopback_v6(here, here, "::1");
  const Connection veth_v4(there, here, "::ffff:10.7.0.1");
  const Connection veth_v6(there, here, "fd07::1");
  std::printf("%-16s %8s %8s %8s\n", "ns a packet", "empty", "tap", "ratio");
  measure(filters, {"loopback, IPv4", loopback_v4, here}, rounds, messages);
  measure(filters, {"loopback, IPv6", loopback_v6, here}, rounds, messages);
  measure(filters, {"veth, IPv4", veth_v4, here}, rounds, messages);
  measure(filters, {"veth, IPv6", veth_v6, here}, rounds, messages);
  return 0;
}
