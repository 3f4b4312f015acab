// TappedNamespaces: the network namespaces, other than the exporter's own, in which the tap looks
// at packets: those in which IOCs run.
//
// An open tap keeps its namespace, and the network devices in it, alive. So it is closed as soon as
// nothing runs there any more; while something does (the rest of a container, an IOC's restart), it
// stays for kKeep after its last IOC.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/rooted_fs.h"
#include "puts/searches/udp.h"
#include "puts/tap/served.h"
#include "puts/tap/tap.h"

namespace ioc_exporter::ca {

class TappedNamespaces {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kKeep{120};
  static constexpr std::chrono::seconds kRetry{10};

  // `own`: inode of the exporter's network namespace.
  TappedNamespaces(RootedFs fs, std::uint64_t own) : fs_(std::move(fs)), own_(own) {}

  // Opens the namespaces of these IOCs and closes those that are not needed any more. `udp` may be
  // null. The first error; what failed is tried again after kRetry.
  Result<void> update(const std::vector<Served>& served, CaTap& tap, CaUdp* udp,
                      Clock::time_point now);

  // The tap's number of a namespace; nothing: it does not look into it.
  std::optional<std::uint32_t> number(std::uint64_t inode) const;
  // All such numbers, including 0.
  std::vector<std::uint32_t> numbers() const;
  // Namespaces that could not be opened, by inode, and why.
  std::map<std::uint64_t, std::string> problems() const;

 private:
  struct Namespace {
    std::optional<std::uint32_t> number;
    std::string problem;
    Clock::time_point next_try{};
    Clock::time_point last_used{};
  };

  Result<void> open(const iocs::Ioc& ioc, Namespace& state, CaTap& tap, CaUdp* udp) const;
  bool in_use(std::uint64_t inode) const;

  RootedFs fs_;
  std::uint64_t own_;
  std::map<std::uint64_t, Namespace> all_;  // by inode
};

}  // namespace ioc_exporter::ca
