#include "puts/tap/tapped_namespaces.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include "base/process_stats.h"

namespace ioc_exporter::ca {

Result<void> TappedNamespaces::update(const std::vector<Served>& served, CaTap& tap, CaUdp* udp,
                                      Clock::time_point now) {
  Result<void> first;
  const auto note = [&first](Result<void> done) {
    if (!done && first) first = std::move(done);
  };
  for (const Served& one : served) {
    if (one.ioc->own_net_namespace) continue;
    Namespace& state = all_[one.ioc->net_namespace];
    state.last_used = now;
    if (!state.number && now >= state.next_try) {
      auto opened = open(*one.ioc, state, tap, udp);
      state.problem = opened ? "" : opened.error().message();
      state.next_try = now + kRetry;
      note(std::move(opened));
    }
  }
  for (auto one = all_.begin(); one != all_.end();) {
    const auto& [inode, state] = *one;
    const bool needed = state.last_used == now || (now - state.last_used < kKeep && in_use(inode));
    if (!needed && state.number) {
      note(tap.remove_namespace(*state.number));
      if (udp != nullptr) note(udp->remove_namespace(*state.number));
    }
    one = needed ? std::next(one) : all_.erase(one);
  }
  return first;
}

Result<void> TappedNamespaces::open(const iocs::Ioc& ioc, Namespace& state, CaTap& tap,
                                    CaUdp* udp) const {
  std::string path;
  auto ns = look_through_thread(fs_, ioc.id.pid, [&](pid_t thread) {
    path = folder_of_thread(ioc.id.pid, thread) + "/ns/net";
    return fs_.open(path, O_RDONLY);
  });
  if (!ns) return std::move(ns).error();
  struct stat status {};
  if (::fstat(ns->get(), &status) != 0) return last_error("look at " + fs_.path(path));
  // It has moved on since it was looked at; the next look finds it where it is.
  if (status.st_ino != ioc.net_namespace) return {};
  auto number = tap.namespaces().add(ns->get());
  if (!number) return std::move(number).error();
  state.number = *number;
  // Without searches and beacons its puts are counted all the same.
  return udp == nullptr ? Result<void>() : udp->add_namespace(*number, ns->get());
}

bool TappedNamespaces::in_use(std::uint64_t inode) const {
  const std::string wanted = "net:[" + std::to_string(inode) + "]";
  const auto names = fs_.list("/proc");
  return names && std::ranges::any_of(*names, [&](const std::string& name) {
           if (std::isdigit(static_cast<unsigned char>(name.front())) == 0) return false;
           const auto link = fs_.read_link("/proc/" + name + "/ns/net");
           return link && *link == wanted;
         });
}

std::optional<std::uint32_t> TappedNamespaces::number(std::uint64_t inode) const {
  if (inode == own_) return 0;
  const auto found = all_.find(inode);
  return found == all_.end() ? std::nullopt : found->second.number;
}

std::vector<std::uint32_t> TappedNamespaces::numbers() const {
  std::vector<std::uint32_t> numbers{0};
  for (const auto& [inode, state] : all_)
    if (state.number) numbers.push_back(*state.number);
  return numbers;
}

std::map<std::uint64_t, std::string> TappedNamespaces::problems() const {
  std::map<std::uint64_t, std::string> problems;
  for (const auto& [inode, state] : all_)
    if (!state.problem.empty()) problems.emplace(inode, state.problem);
  return problems;
}

}  // namespace ioc_exporter::ca
