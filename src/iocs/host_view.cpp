#include "iocs/host_view.h"

#include <algorithm>

namespace ioc_exporter::iocs {
namespace {

constexpr std::chrono::milliseconds kYouth{10'000};

}  // namespace

std::string subject_of(const Ioc& ioc) {
  return (ioc.kind == IocKind::base        ? "ioc "
          : ioc.is_gateway                 ? "gateway "
          : ioc.kind == IocKind::other_pva ? "PVA server "
                                           : "CA server ") +
         ioc.name + " (pid " + std::to_string(ioc.id.pid) + ")";
}

const LiveIoc* HostView::find(const IocId& id, std::uint64_t serial) const {
  const auto found = live_.find(id);
  return found == live_.end() || found->second.serial != serial ? nullptr : &found->second;
}

bool HostView::any_young(Clock::time_point now) const {
  return std::ranges::any_of(
      live_, [now](const auto& entry) { return now < entry.second.found + kYouth; });
}

std::map<std::uint32_t, std::string> HostView::names() const {
  std::map<std::uint32_t, std::string> by_number;
  for (const auto& [name, number] : gone_.numbers()) by_number.emplace(number, name);
  return by_number;
}

std::unordered_set<std::string> HostView::known_names() const {
  std::unordered_set<std::string> known;
  for (const auto& [name, number] : gone_.numbers()) known.insert(name);
  return known;
}

IocFacts HostView::facts(const LiveIoc& live) const {
  IocFacts facts;
  facts.name = live.ioc.name;
  facts.up = true;
  facts.base = live.ioc.kind == IocKind::base;
  facts.other_pva = live.ioc.kind == IocKind::other_pva;
  facts.gateway = live.ioc.is_gateway;
  facts.pid = live.ioc.id.pid;
  facts.start_time_seconds = live.ioc.start_time_seconds;
  facts.base_version = live.ioc.base_version;
  facts.executable = live.ioc.executable;
  facts.directory = live.ioc.directory;
  facts.ca_port = live.ca_port;
  for (const ListeningSocket& socket : live.ioc.listening)
    if (std::ranges::find(facts.tcp_ports, socket.port) == facts.tcp_ports.end())
      facts.tcp_ports.push_back(socket.port);
  const std::string held =
      live.ioc.traced_or_stopped.empty() ? "" : "left alone: " + live.ioc.traced_or_stopped;
  for (const std::string* problem : {&live.problem, &live.ioc.problem, &held})
    if (facts.problem.empty()) facts.problem = *problem;
  facts.database = live.database;
  facts.restarts = gone_.restarts(live.ioc.name);
  facts.supervisor = live.ioc.supervisor;
  facts.restarted_by_supervisor = live.restarted_by_supervisor;
  facts.user = live.ioc.user_name;
  facts.claimed_name = live.ioc.claimed_name;
  facts.contested_with = live.ioc.contested_with;
  return facts;
}

std::vector<IocFacts> HostView::facts() const {
  std::vector<IocFacts> all;
  for (const auto& [id, live] : live_) all.push_back(facts(live));
  gone_.add_facts(all);
  return all;
}

}  // namespace ioc_exporter::iocs
