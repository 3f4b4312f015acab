#include "puts/client_processes.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <ctime>
#include <optional>
#include <span>

#include "base/client_network.h"
#include "base/process_stats.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "iocs/find/listening_sockets.h"
#include "iocs/find/process_stat.h"

namespace ioc_exporter::ca {
namespace {

constexpr const char* kAsk = "ask the kernel for a TCP connection";
constexpr int kRest = 100;                       // times what a look took
constexpr std::chrono::milliseconds kShort{10};  // a user's search above it rests on its own
constexpr unsigned kMostSearches = 3;
constexpr std::size_t kMostCosts = 4096, kLongestName = 64;

// That this thread has taken: on a busy host a look takes no more of it.
std::chrono::nanoseconds cpu_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// For one socket: the kernel looks it up in its hash, and refuses another one with the same ends.
// Channel Access has no IPv6.
inet_diag_req_v2 question_for(const InetSocket& socket) {
  inet_diag_req_v2 question{};
  question.sdiag_family = AF_INET;
  question.sdiag_protocol = IPPROTO_TCP;
  question.idiag_states = states_of(SocketKind::connected);
  constexpr std::size_t kPrefix = sizeof(InetAddress) - sizeof question.id.idiag_src[0];
  std::memcpy(question.id.idiag_src, socket.local.data() + kPrefix, sizeof(__be32));
  std::memcpy(question.id.idiag_dst, socket.remote.data() + kPrefix, sizeof(__be32));
  question.id.idiag_sport = htons(socket.local_port);
  question.id.idiag_dport = htons(socket.remote_port);
  question.id.idiag_cookie[0] = static_cast<__u32>(socket.cookie);
  question.id.idiag_cookie[1] = static_cast<__u32>(socket.cookie >> 32);
  return question;
}

// "10.0.0.7:4711"
std::optional<std::pair<InetAddress, std::uint16_t>> client_end(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::uint16_t port = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + colon + 1, last, port);
  const auto address = parse_client_address(std::string(text.substr(0, colon)));
  if (!address || error != std::errc{} || end != last) return std::nullopt;
  return std::pair(*address, port);
}

// Without what stands between names and around numbers.
std::string plain_name(const std::string& name) {
  std::string plain = printable_utf8(name, kLongestName);
  std::ranges::replace_if(
      plain, [](char c) { return c == ',' || c == '[' || c == ']'; }, '_');
  return plain;
}

}  // namespace

std::string ClientProcesses::text_of(const Processes& processes) {
  std::set<std::string> names;
  for (const auto& [id, process] : processes) names.insert(process);
  std::string text;
  std::size_t named = 0;
  for (const std::string& name : names) {
    if (!text.empty()) text += ", ";
    if (named++ == kMostNamed) return text + "...";
    text += name;
  }
  return text;
}

void ClientProcesses::look(std::vector<SocketOwner> servers, std::uint64_t own_namespace) {
  worker_.start([this, own_namespace, all = std::move(servers)] { look_now(all, own_namespace); });
}

void ClientProcesses::look_now(const std::vector<SocketOwner>& servers,
                               std::uint64_t own_namespace) {
  const auto begin = cpu_time();
  Connections connections = connections_of(servers, own_namespace);
  const auto apart = name(connections, servers);
  std::multimap<Place, Id> by_client;
  for (const auto& [id, one] : connections)
    by_client.emplace(Place{one.ioc, one.client.local, one.client.local_port}, id);
  {
    const std::scoped_lock lock(mutex_);
    connections_ = std::move(connections);
    by_client_ = std::move(by_client);
  }
  next_ = Clock::now() + std::max<Clock::duration>(interval_, kRest * (cpu_time() - begin - apart));
}

ClientProcesses::Connections ClientProcesses::connections_of(
    const std::vector<SocketOwner>& servers, std::uint64_t own_namespace) {
  std::vector<SocketOwner> clients = servers;
  clients.push_back({{::getpid(), 0}, own_namespace});
  const std::uint64_t before = clock_ns(CLOCK_MONOTONIC);
  const auto found = LocalConnections(fs_).between(clients, servers);
  const std::uint64_t after = clock_ns(CLOCK_MONOTONIC);
  Connections connections;
  for (const LocalConnection& one : found) {
    if (connections.size() == kMostConnections) break;
    if (one.client.cookie == 0 || one.client.inode == 0) continue;
    connections[{one.client_namespace, one.client.cookie}] = {
        one.server->ioc, one.client, one.client_namespace, {}, 0, after, before};
  }
  keep_known(connections);
  open_kernels(connections, clients);
  return connections;
}

// Those that were there before are what they were, while their processes are.
void ClientProcesses::keep_known(Connections& connections) {
  {
    const std::scoped_lock lock(mutex_);
    for (auto& [id, one] : connections) {
      const auto known = connections_.find(id);
      if (known == connections_.end() || known->second.client.inode != one.client.inode) continue;
      one.processes = known->second.processes;
      one.searches = known->second.searches;
      one.first_ns = known->second.first_ns;
    }
  }
  std::map<iocs::IocId, bool> ended;
  for (auto& [id, one] : connections) {
    const bool any = std::ranges::any_of(one.processes, [&](const auto& process) {
      const auto [known, is_new] = ended.try_emplace(process.first);
      if (is_new) {
        const auto stat = iocs::read_process_stat(fs_, process.first.pid);
        known->second = !stat || stat->id != process.first || stat->dead();
      }
      return known->second;
    });
    if (!any) continue;
    one.processes.clear();
    one.searches = 0;
  }
}

void ClientProcesses::open_kernels(const Connections& connections,
                                   const std::vector<SocketOwner>& owners) {
  std::set<std::uint64_t> used;
  for (const auto& [id, one] : connections) used.insert(id.first);
  std::map<std::uint64_t, Netlink> opened;
  for (const SocketOwner& owner : owners) {
    const std::uint64_t net = owner.net_namespace;
    // Only this thread changes which there are.
    if (!used.contains(net) || kernels_.contains(net) || opened.contains(net)) continue;
    const pid_t pid = owner.id.pid;
    const auto ns = look_through_thread(fs_, pid, [&](pid_t thread) {
      return fs_.open(folder_of_thread(pid, thread) + "/ns/net", O_RDONLY);
    });
    if (!ns) continue;
    auto kernel = pid == ::getpid() ? Netlink::open(NETLINK_SOCK_DIAG, kAsk)
                                    : Netlink::open_in(ns->get(), NETLINK_SOCK_DIAG, kAsk);
    if (kernel) opened.emplace(net, std::move(*kernel));
  }
  const std::scoped_lock lock(mutex_);
  std::erase_if(kernels_, [&used](const auto& entry) { return !used.contains(entry.first); });
  kernels_.merge(opened);
}

// An error: this connection is not there any more. Under the mutex.
Result<uid_t> ClientProcesses::user_of(const Connection& connection) {
  const auto kernel = kernels_.find(connection.client_namespace);
  if (kernel == kernels_.end()) return error_in_words(kAsk);
  std::optional<uid_t> user;
  auto asked = kernel->second.ask(SOCK_DIAG_BY_FAMILY, 0, question_for(connection.client), kAsk,
                                  [&user](std::uint16_t type, std::span<const std::byte> body) {
                                    const auto message = netlink_struct<inet_diag_msg>(body);
                                    if (type == SOCK_DIAG_BY_FAMILY && message)
                                      user = message->idiag_uid;
                                  });
  if (!asked) return std::move(asked).error();
  if (!user) return error_in_words(kAsk);
  return *user;
}

// Users whose search is short go first; long ones rest on their own, all together as long as one
// look would: one user's many files delay nobody else's names. Returns what long ones took.
std::chrono::nanoseconds ClientProcesses::name(Connections& connections,
                                               const std::vector<SocketOwner>& servers) {
  std::chrono::nanoseconds apart{0};
  std::map<uid_t, Wanted> by_user;
  for (auto& [id, one] : connections) {
    if (!one.processes.empty() || one.searches >= kMostSearches) continue;
    const std::scoped_lock lock(mutex_);
    if (const auto user = user_of(one)) by_user[*user][one.client.inode] = &one;
  }
  const auto proc = Folder::open(fs_, "/proc");
  std::erase_if(by_user, [&](const auto& user) {
    const auto known = searches_.find(user.first);
    return known != searches_.end() && Clock::now() < known->second.next;
  });
  if (by_user.empty() || !proc) return apart;
  std::map<uid_t, std::vector<pid_t>> pids;
  for (const pid_t pid : proc->numbers()) {
    struct stat status {};  // its owner is the effective user
    if (::stat(fs_.path("/proc/" + std::to_string(pid)).c_str(), &status) == 0 &&
        by_user.contains(status.st_uid))
      pids[status.st_uid].push_back(pid);
  }
  if (searches_.size() > kMostCosts) searches_.clear();
  std::vector<std::pair<std::chrono::nanoseconds, uid_t>> users;
  for (const auto& [user, wanted] : by_user) users.emplace_back(searches_[user].cost, user);
  std::ranges::sort(users);
  const auto until = cpu_time() + kShare;
  for (const auto& [cost, user] : users) {
    const auto begin = cpu_time();
    if (begin >= until) break;
    const Wanted& wanted = by_user[user];
    const bool all = search(pids[user], wanted, servers, std::min(until, begin + kUserShare));
    const auto spent = cpu_time() - begin;
    searches_[user] = {spent, {}};
    if (spent > kShort) {
      apart += spent;
      const auto is_long = [](const auto& of) { return of.second.cost > kShort; };
      searches_[user].next =
          Clock::now() + kRest * spent * std::ranges::count_if(searches_, is_long);
    }
    for (const auto& [inode, one] : wanted)
      if (!all)
        one->processes.clear();
      else if (one->processes.empty())
        ++one->searches;
  }
  return apart;
}

// False: not all were asked.
bool ClientProcesses::search(const std::vector<pid_t>& pids, const Wanted& wanted,
                             const std::vector<SocketOwner>& servers,
                             std::chrono::nanoseconds until) const {
  for (const pid_t pid : pids) {
    if (cpu_time() >= until) return false;
    const auto process = Folder::open(fs_, "/proc/" + std::to_string(pid));
    if (!process) continue;
    std::string name;
    iocs::IocId id;
    for (const std::uint64_t inode : iocs::socket_inodes(fs_, pid)) {
      const auto found = wanted.find(inode);
      if (found == wanted.end()) continue;
      if (name.empty()) {
        char buffer[2048];
        const auto text = process->read("stat", buffer);
        const auto stat = text ? iocs::parse_process_stat(*text) : std::nullopt;
        if (!stat) break;  // it has ended: these may be another process' files
        const auto ioc = std::ranges::find(servers, stat->id, &SocketOwner::id);
        id = stat->id;
        name = ioc != servers.end() ? plain_name(ioc->ioc)
                                    : plain_name(stat->comm) + "[" + std::to_string(pid) + "]";
      }
      Processes& processes = found->second->processes;
      if (processes.size() <= kMostNamed) processes.emplace(id, name);
    }
  }
  return true;
}

std::string ClientProcesses::of(const std::string& ioc, std::string_view client,
                                std::uint64_t at_ns) {
  const std::scoped_lock lock(mutex_);
  const auto end = by_client_.empty() ? std::nullopt : client_end(client);
  if (!end) return "";
  const auto [first, last] = by_client_.equal_range(Place{ioc, end->first, end->second});
  if (first == last || std::next(first) != last) return "";
  Connection& one = connections_.at(first->second);
  if (one.processes.empty() || at_ns < one.first_ns) return "";
  if (one.last_ns < at_ns) {
    const std::uint64_t now = clock_ns(CLOCK_MONOTONIC);
    if (!user_of(one)) return "";
    one.last_ns = now;
  }
  return text_of(one.processes);
}

std::string ClientProcesses::of_ports(const std::string& ioc, const std::string& address,
                                      const std::vector<std::uint16_t>& ports) const {
  const auto parsed = parse_client_address(address);
  if (!parsed) return "";
  Processes processes;
  const std::scoped_lock lock(mutex_);
  for (const std::uint16_t port : ports) {
    const auto [first, last] = by_client_.equal_range(Place{ioc, *parsed, port});
    if (first == last || std::next(first) != last) continue;
    const auto& some = connections_.at(first->second).processes;
    processes.insert(some.begin(), some.end());
  }
  return text_of(processes);
}

}  // namespace ioc_exporter::ca
