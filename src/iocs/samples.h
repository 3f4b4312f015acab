// Samples of an IOC as a whole. Plain data.
//
// Counters grow from the moment the exporter first saw the thing they count and never shrink while
// it runs. Durations are nanoseconds of CLOCK_MONOTONIC; times of day are seconds since 1970 (UTC).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "iocs/ioc_id.h"

namespace ioc_exporter::iocs {

// End of a process: the labels of epics_ioc_last_exit_info.
struct IocExit {
  std::string reason;  // "exit", "signal", or "core_dump": a signal after which a core was written
  std::string status;  // exit status: "0"; "" for signals
  std::string signal;  // "SIGSEGV"; "" when there was none

  bool operator==(const IocExit&) const = default;
};

// "exit status 1", "SIGSEGV", "SIGSEGV, a core was dumped".
std::string in_words(const IocExit& exit);

}  // namespace ioc_exporter::iocs

namespace ioc_exporter {

// Samples of one IOC's process from /proc. Plain data.

// By thread name, as EPICS Base sets them since 3.15.0.1, pvAccessCPP and pvxs.
enum class ThreadClass {
  scan,      // scan-PERIOD
  callback,  // cbLow, cbMedium, cbHigh, with -N when there are several
  once,      // scanOnce
  ca,        // CAS-*, CAC-*, dbCaLink: Channel Access, server and client
  pva,       // PVX*, TCP-*, UDP-*: PV Access
  main,      // the process' first thread, whatever it is called
  other,     // all others: drivers, sequencer, autosave, errlog, ...
};
inline constexpr std::size_t kThreadClasses = 7;

using CpuByClass = std::array<std::uint64_t, kThreadClasses>;  // ns, user and system

struct HealthSample {
  std::uint64_t process_cpu_ns = 0;  // since the process started
  CpuByClass cpu_ns{};               // since it was read for the first time
  // Likewise, of threads that ended before their class was known.
  std::uint64_t ended_cpu_ns = 0;
  std::array<std::uint64_t, kThreadClasses> threads{};  // now
  std::uint64_t spinning = 0;                           // threads that never sleep: health/health.h
  std::uint64_t resident_bytes = 0;
  std::optional<std::uint64_t> open_fds, max_fds;  // nothing: may not be read
};

// Samples of an IOC's own variables. Plain data.

// A list of the records with one SCAN period (dbScan.c).
struct ScanListSample {
  std::string period;                     // seconds as in its thread's name: "0.1", "10"
  std::uint64_t records = 0;              // that are on the list now
  std::optional<std::uint64_t> overruns;  // since the IOC's start; since Base 3.14.12.4
};

// A queue of callback threads (callback.c), or scanOnce's (dbScan.c).
struct QueueSample {
  std::string queue;  // "low", "medium", "high", "once"
  std::uint64_t length = 0;
  std::uint64_t capacity = 0;
  // Since the IOC's start, or since they were reset in its shell; since Base 3.16.2.
  std::optional<std::uint64_t> high_water_mark, overflows;
};

struct ActiveRecord {
  std::uint32_t record = 0;  // index into the database's records
  double seconds = 0;        // active for at least so long, up to the sample
};

// SEVR and PACT of all records, seen at about the same moment.
struct RecordStatesSample {
  double time_seconds = 0;                         // time of day when their reading began
  std::array<std::uint64_t, 4> by_severity{};      // NO_ALARM, MINOR, MAJOR, INVALID
  std::uint64_t in_flight = 0;                     // records that are active (PACT)
  std::uint64_t stuck = 0;                         // of those, the ones that are too long
  std::vector<ActiveRecord> longest_stuck = {};    // the longest first, a limited number
  std::vector<ActiveRecord> longest_waiting = {};  // as long, but by right: for their own delay
  // Active for as long, and never processed: left so by iocInit, for want of a device.
  std::uint64_t never_processed = 0;
  std::vector<std::uint32_t> some_never_processed = {};  // indices, a limited number
};

// A Channel Access link that is not connected.
struct DownLink {
  std::uint32_t record = 0;  // index into the database's records
  std::string field;
  std::string pv;               // that it leads to; "" where it could not be read
  double since_seconds = 0;     // time of day when it was first seen to be down
  bool ever_connected = false;  // since the link was made
};

// Channel Access links of the IOC's records, as dbCa.c notes them.
struct CaLinksSample {
  std::uint64_t connected = 0, disconnected = 0;
  // Of all links that were seen, each since it was made.
  std::uint64_t disconnects = 0;
  std::uint64_t lost_writes = 0;    // replaced by a later one before they were sent
  std::vector<DownLink> down = {};  // the longest first, a limited number
};

// Missing values could not be read: `notes` says why.
struct IocMemorySample {
  std::optional<std::vector<ScanListSample>> scan_lists;
  std::optional<std::vector<QueueSample>> queues;
  std::optional<std::vector<std::string>> suspended_threads;  // their names
  std::optional<RecordStatesSample> records;
  std::optional<CaLinksSample> ca_links;
  std::vector<std::string> notes;  // missing facts, and why
};

// Database: the records of one IOC, by their addresses in its memory. Plain data.
struct RecordIdentity {
  std::uint64_t address = 0;  // struct dbCommon *, in the IOC
  std::string name;
  std::uint32_t type = 0;  // index into Database::types
  // No record, but several that are shown as one; see records/families/bounds.h.
  bool group = false;
  bool all_of_type = false;  // this group is all records of a type
  bool operator==(const RecordIdentity&) const = default;
};

struct RecordAlias {
  std::string name;
  std::uint32_t record = 0;  // index into Database::records
  bool operator==(const RecordAlias&) const = default;
};

// A field that is a struct link, of all records of a type.
struct LinkField {
  std::string name;
  std::uint16_t offset = 0, size = 0;  // bytes, within the record
  bool operator==(const LinkField&) const = default;
};

// Seconds that a record waits before it completes: a double or a float.
struct DelayField {
  std::uint16_t offset = 0, size = 0;  // bytes, within the record
  bool operator==(const DelayField&) const = default;
};

struct Database {
  std::vector<std::string> types;
  std::vector<RecordIdentity> records;
  std::vector<RecordAlias> aliases = {};
  // Of the IOC's periodic scans, "0.1", from its menuScan; empty: not known.
  std::vector<std::string> scan_periods = {};
  // Records of each type, where `records` are not all of them, or groups; else empty.
  std::vector<std::uint64_t> type_totals = {};
  std::vector<std::vector<LinkField>> link_fields = {};    // of each type
  std::vector<std::vector<DelayField>> delay_fields = {};  // of each type
  bool operator==(const Database&) const = default;
};

struct IocFacts {
  std::string name;  // label `ioc`, unique
  bool up = false;
  bool only_up = false;  // gone for long: only epics_ioc_up is shown
  bool base = true;      // has a database of EPICS Base
  bool gateway = false;  // a Channel Access or PVA gateway
  std::int32_t pid = 0;
  double start_time_seconds = 0;  // time of day
  double end_time_seconds = 0;    // time of day; 0: it runs
  std::string base_version;       // "7.0.8.1"; "" when it is not known
  std::string executable;         // path in the IOC's mount namespace
  std::string directory;          // working directory, the same
  std::string user;               // user who started it
  iocs::Supervisor supervisor;    // as of when it was found
  std::string claimed_name;       // the name that it calls itself by
  std::string contested_with;     // user whose IOC has or had that name; "" = none
  std::optional<std::uint16_t> ca_port;
  std::vector<std::uint16_t> tcp_ports;      // listening
  std::string problem;                       // why something is missing; "" = nothing is
  std::shared_ptr<const Database> database;  // null while it could not be read
  std::uint64_t restarts = 0;                // IOCs of this name after the first
  bool restarted_by_supervisor = false;      // the last one, by that of the one before
  bool other_pva = false;                    // serves PV Access, and is not `base`
  std::optional<HealthSample> health;        // while it runs
  std::optional<iocs::IocExit> last_exit;    // the last that was seen
  std::vector<std::string> notes;            // missing facts, and why
};

}  // namespace ioc_exporter
