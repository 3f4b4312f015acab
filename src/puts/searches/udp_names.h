// Names that are searched most without an answer. Pure: no system calls.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "puts/totals/samples.h"
#include "shared/ca_udp.h"

namespace ioc_exporter::ca {

class CaUdpNames {
 public:
  // A client may look for a name with several sockets and channels: they count together.
  void add(const iocx_ca_search_key& key, const iocx_ca_search& search);

  // Names with at least `least` requests, at most `most` of them, most requests first.
  // `boot_seconds`: the time of day when the kernel's clock was 0.
  std::vector<SearchedName> most(std::uint64_t least, std::size_t most, double boot_seconds) const;

 private:
  struct Entry {
    std::uint64_t requests = 0;
    std::uint64_t first_ns = UINT64_MAX;
    std::uint64_t last_ns = 0;
  };
  std::map<std::pair<std::string, std::string>, Entry> entries_;  // client, name
};

}  // namespace ioc_exporter::ca
