// Takes over the tap's tables from an earlier run of the exporter, before any packet is looked at.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "base/rooted_fs.h"
#include "base/socket_cookies.h"
#include "puts/tap/pins.h"
#include "puts/tap/tap_object.h"

namespace ioc_exporter::ca {

// A circuit in another network namespace than the exporter's. Namespaces have other numbers in each
// run: it is in none of the programs' tables until the one that has its socket is looked into.
struct CaKeptElsewhere {
  iocx_ca_flow_key key;  // with the number of the earlier run
  iocx_ca_flow flow;
  std::uint64_t cookie;  // of its socket
};

struct CaTakenOver {
  std::uint64_t circuits = 0;
  std::uint64_t channels = 0;              // of which the name is known
  std::uint64_t circuits_ended = 0;        // while no exporter ran
  std::vector<CaKeptElsewhere> elsewhere;  // among `circuits`
};

// Keeps what is whole and still there. All counters are 0 again: their values belong to the earlier
// run. Circuits are as if met on their way, without an IOC yet. Circuits in other network
// namespaces leave if their sockets were not noted.
Result<CaTakenOver> take_over(const CaTapObject& object, const CaPins& pins, const RootedFs& fs);

// One line for the log; times of CLOCK_BOOTTIME, the first of which is 0 when it is not known.
std::string describe(const CaTakenOver& taken, std::uint64_t last_alive_ns, std::uint64_t now_ns);

// State that a CaTap holds to keep its tables for the next run.
struct CaKeptTables {
  std::unique_ptr<CaPins> pins;             // null: nothing is kept
  std::string report;                       // one line for the log; "": not asked for
  bool has_sockets = true;                  // the kernel has inet_diag, as far as is known
  std::unordered_set<std::uint64_t> noted;  // circuits whose sockets are noted, or have none
  std::vector<CaKeptElsewhere> elsewhere;   // that wait for their namespaces
};

struct CaTapOptions;
// The tap's object with the tables of CaTapOptions::pin_directory. Where those cannot be had, it
// has its own, and `kept` says why.
Result<CaTapObject> load_kept_tables(const CaTapOptions& options, CaKeptTables& kept);

}  // namespace ioc_exporter::ca
