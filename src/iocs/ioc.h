// Ioc: one running IOC, or another program that serves Channel Access or PV Access, as the finder
// sees it. Plain data.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/socket_table.h"
#include "elf/code_file.h"
#include "iocs/ioc_id.h"

namespace ioc_exporter {

// Ports of Channel Access (its specification, "Port numbers"). Default ones of a server, TCP and
// UDP; the first server on a host gets them.
inline constexpr std::uint16_t kCaServerPort = 5064;
// UDP: where beacons go to.
inline constexpr std::uint16_t kCaRepeaterPort = 5065;
// TCP: the default port of a server for PV Access.
inline constexpr std::uint16_t kPvaServerPort = 5075;

}  // namespace ioc_exporter

namespace ioc_exporter::iocs {

// Where dbProcess is, and other functions of the same file.
struct ProbeTarget {
  std::string display_path;  // as the IOC sees it, without " (deleted)"
  bool deleted = false;      // the file has no name any more (upgraded under the running IOC)
  std::shared_ptr<const elf::CodeFile> file;
  std::uint64_t offset = 0;  // of dbProcess' first instruction, in the file
  // By name, of Inspector::probed_functions() and their cold parts, those that the file defines.
  // Some are local to their source file: a stripped file does not have them.
  std::map<std::string, elf::CodeRange> functions = {};

  bool operator==(const ProbeTarget&) const = default;
};

// A TCP socket in state LISTEN.
struct ListeningSocket {
  std::optional<InetAddress> address;  // none = any address, of IPv4 or IPv6
  std::uint16_t port = 0;

  auto operator<=>(const ListeningSocket&) const = default;
};

// Addresses in an IOC of the CA server's tables (rsrv/server.h): BUCKET *pCaBucket, ELLLIST
// clientQ.
struct CaServerSymbols {
  std::uint64_t ca_bucket = 0;
  std::uint64_t client_queue = 0;

  bool operator==(const CaServerSymbols&) const = default;
};

// The functions of the CA server (rsrv) that each put enters, and the server's hash of channels.
struct CaWriteTarget {
  std::string display_path;  // as the IOC sees it, without " (deleted)"
  std::shared_ptr<const elf::CodeFile> file;
  std::uint64_t write_action = 0, write_notify_action = 0;  // first instructions, in the file
  std::uint64_t ca_bucket = 0;                              // of BUCKET *pCaBucket, in the IOC

  bool operator==(const CaWriteTarget&) const = default;
};

// A function that a put by PV Access enters, or that gets its result.
struct PvaPutTarget {
  std::string display_path;  // as the IOC sees it, without " (deleted)"
  std::shared_ptr<const elf::CodeFile> file;
  std::uint32_t function = 0;  // index into Inspector::pva_put_functions()
  std::uint64_t offset = 0;    // first instruction, in the file

  bool operator==(const PvaPutTarget&) const = default;
};

// A variable in an IOC's memory.
struct VariablePlace {
  std::uint64_t address = 0;
  std::uint64_t size = 0;  // bytes, as the symbol table says, 0 = not known

  bool operator==(const VariablePlace&) const = default;
};
// By name; each with the places at which it may live, in the order of Ioc::pdbbase.
using VariablePlaces = std::map<std::string, std::vector<VariablePlace>>;

enum class IocKind {
  base,       // runs EPICS Base's database: has dbProcess, or an IOC's threads
  other_ca,   // serves Channel Access without it, or is a gateway: caproto, pcaspy, ca-gateway
  other_pva,  // serves PV Access without it, or is a gateway: p4p, pvaPy, pvagw
};

// Facts from the files that an IOC maps.
struct IocCode {
  std::string executable;  // path as the IOC sees it, without " (deleted)"
  // "7.0.8.1", "3.15.9", "7.0.10.1-DEV"; "database 3.23.1" when only the library's file name says
  // something and it is no Base version; "" when nothing did.
  std::string base_version;
  std::optional<ProbeTarget> target;  // none: `problem` says why
  // Addresses in the IOC at which the symbol may live, likeliest first: the executable's own (it
  // may hold a copy relocation of a library's variable), then the libraries' in the order of the
  // maps.
  std::vector<std::uint64_t> pdbbase;
  std::vector<std::uint64_t> ca_server_port;
  std::vector<CaServerSymbols> ca_server;  // one a file that defines both
  std::optional<CaWriteTarget> ca_writes;  // none: its files do not name the functions
  std::vector<PvaPutTarget> pva_puts;      // of the PVA servers whose functions its files name
  bool serves_pva = false;                 // it maps the library of QSRV 1 or 2
  bool is_gateway =
      false;  // its program is a server by libcas and a client by libca at once, or p4p's
  // Of Inspector::read_variables(). They are local to their source files: in a stripped file there
  // are none.
  VariablePlaces variables;
  std::string problem;  // "" = none

  bool operator==(const IocCode&) const = default;
};

struct Ioc : IocCode {
  IocId id;
  IocKind kind = IocKind::base;
  std::string name;          // label `ioc`: unique among the running ones, printable UTF-8
  std::string claimed_name;  // its own name for itself
  // User that holds or held this name; empty when the owner is certain.
  std::string contested_with;
  std::uint32_t user = 0;                  // user who started it
  std::string user_name;                   // or his number
  Supervisor supervisor;                   // when it was found
  std::string directory;                   // it works in, the same; "" where it could not be read
  double start_time_seconds = 0;           // time of day, UTC
  std::uint64_t net_namespace = 0;         // inode of /proc/PID/ns/net, 0 when it could not be read
  bool own_net_namespace = true;           // it is also the exporter's
  std::vector<ListeningSocket> listening;  // sorted, each once
  std::optional<std::uint16_t> ca_port;    // other_ca only: the first that was seen to speak it
  // Others run on, as in an IOC without a shell. Breakpoints cannot be put into it alone then: see
  // probes/one_or_all.h.
  bool main_thread_ended = false;
  // Why its memory and its code must be left alone now: a debugger, a checkpoint, a stop signal; in
  // words, "" = nothing. As of the last poll.
  std::string traced_or_stopped;

  bool operator==(const Ioc&) const = default;
};

// False: its name has its pid, and never comes again.
inline bool keeps_name(const Ioc& ioc) {
  return ioc.name == ioc.claimed_name || ioc.name == ioc.claimed_name + "-" + ioc.user_name;
}

}  // namespace ioc_exporter::iocs
