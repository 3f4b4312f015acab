// Counts of what several network namespaces of one host may see at once. Pure: no system calls.
//
// A broadcast that a container sends is counted in its namespace and again in the host's, where the
// bridge is. So the counts of one address are those of the namespace that saw most, but for
// loopback addresses: each namespace's is its own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/monotonic_totals.h"
#include "puts/totals/samples.h"
#include "shared/ca_udp.h"

namespace ioc_exporter::ca {

class CaUdpTotals {
 public:
  using Counts = CounterValues<2>;

  // Counts of a namespace so far for `label`. `apart`: they belong to the namespace alone.
  void observe(const std::string& label, bool apart, std::uint32_t net, const Counts& counts);
  // Forgets the namespace. Its counts stay in the totals of labels that others see, too; returns
  // the sum of those that left with it.
  Counts remove_namespace(std::uint32_t net);
  // Gives what was counted for the label and forgets it.
  Counts forget(const std::string& label);

  // Never shrinks, but for remove_namespace() and forget() of all there is.
  std::map<std::string, Counts> totals() const;

 private:
  struct Entry {
    bool apart = false;
    Counts total{};
    CounterGrowth<2> growth;  // of what those namespaces see that are there
    std::map<std::uint32_t, Counts> by_net;
    Counts seen() const;
  };
  std::map<std::string, Entry> entries_;
};

// Names that are searched most without an answer. Pure: no system calls.
class CaUdpNames {
 public:
  // A client may look for a name with several sockets and channels: they count together. What
  // several network namespaces saw of it is the same search, but on loopback (see CaUdpTotals).
  void add(const iocx_ca_search_key& key, const iocx_ca_search& search);

  // Names with at least `least` requests, at most `most` of them, most requests first.
  // `boot_seconds`: the time of day when the kernel's clock was 0.
  std::vector<SearchedName> most(std::uint64_t least, std::size_t most, double boot_seconds) const;

 private:
  struct Entry {
    bool apart = false;
    std::map<std::uint32_t, std::uint64_t> requests;  // by network namespace
    std::uint64_t first_ns = UINT64_MAX;
    std::uint64_t last_ns = 0;
  };
  std::map<std::pair<std::string, std::string>, Entry> entries_;  // client, name
};

}  // namespace ioc_exporter::ca
