// PutClientTotals: writes by client, made of counts by thread. A thread's client is known once it
// was looked for and found; writes that were shown before without a client stay without one, so
// that no count ever shrinks. No system calls. Not thread-safe.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/monotonic_totals.h"
#include "shared/record_puts.h"

namespace ioc_exporter::records {

// Writes of one client to one record. Those that are not among them have no known client.
struct ClientPuts {
  std::uint64_t record = 0;  // struct dbCommon * in the IOC
  iocx_put_source source = IOCX_PUT_OTHER;
  std::string client;  // address without port
  std::uint64_t count = 0;

  bool operator==(const ClientPuts&) const = default;
};

class PutClientTotals {
 public:
  // `limit`: records times clients that are told apart; what is over it stays without its client.
  explicit PutClientTotals(std::size_t limit = 65'536) : totals_(limit) {}

  // What the kernel has counted so far for a thread's writes to a record. `client`: "" = not known
  // now. `shown`: the counts are on a page next, so that what has no client keeps none.
  void add(const iocx_put_client_key& key, std::uint64_t count, const std::string& client,
           bool shown);
  // The kernel has forgotten this thread's writes: the next that come under this key begin anew.
  void forget(const iocx_put_client_key& key);
  // The IOC is gone.
  void forget_slot(std::uint32_t slot);

  // By record, source and client.
  std::vector<ClientPuts> of(std::uint32_t slot) const;
  // Writes that are without their client because of the limit.
  std::uint64_t over_limit() const { return totals_.overflowed()[0]; }

 private:
  struct Thread {
    std::uint32_t slot, tid;
    std::uint64_t record;
    std::uint32_t source;
    auto operator<=>(const Thread&) const = default;
  };
  struct Client {
    std::uint32_t slot;
    std::uint64_t record;
    std::uint32_t source;
    std::string client;
    auto operator<=>(const Client&) const = default;
  };
  static Thread thread_of(const iocx_put_client_key& key);

  MonotonicTotals<Client, 1, Thread> totals_;
};

}  // namespace ioc_exporter::records
