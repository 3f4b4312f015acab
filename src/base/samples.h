// Plain samples: what the probes saw, as the metrics need it. No libbpf, no system calls.
//
// Counters grow from the moment the exporter first saw the thing they count and never shrink while
// it runs. Durations are nanoseconds of CLOCK_MONOTONIC; times of day are seconds since 1970 (UTC).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "iocs/health_samples.h"
#include "iocs/memory_samples.h"
#include "records/overhead_samples.h"
#include "policy/policy_samples.h"
#include "records/cause_samples.h"
#include "records/extra_samples.h"
#include "records/link_samples.h"
#include "records/put_samples.h"
#include "shared/histogram.h"
#include "shared/record_process.h"

namespace ioc_exporter {

inline constexpr std::size_t kHistogramSlots = IOCX_HIST_SLOTS;
inline constexpr int kHistogramFirstK =
    IOCX_HIST_FIRST_K;  // slot i: upper edge 2^((first + i) / 4) s
inline constexpr int kHistogramLastK = IOCX_HIST_LAST_K;  // the last slot holds what is longer
// Of put durations, 2^-20 s to 2^10 s by the same rule.
inline constexpr std::size_t kPutHistogramSlots = IOCX_PUT_HIST_SLOTS;
inline constexpr int kPutHistogramFirstK = IOCX_PUT_HIST_FIRST_K;
inline constexpr int kPutHistogramLastK = IOCX_PUT_HIST_LAST_K;

// A record as the IOC's memory describes it.
struct RecordIdentity {
  std::uint64_t address = 0;  // struct dbCommon *, in the IOC
  std::string name;
  std::uint32_t type = 0;  // index into Database::types
  bool group = false;      // no record, but several that are shown as one; see metrics/bounds.h
};

// Another name of a record.
struct RecordAlias {
  std::string name;
  std::uint32_t record = 0;  // index into Database::records
};

// The database of a running IOC. `records` is sorted by address, `aliases` by name. Aliases are not
// records.
struct Database {
  std::vector<std::string> types;
  std::vector<RecordIdentity> records;
  std::vector<RecordAlias> aliases = {};
  // Records of each type, where `records` are not all of them, or groups; else empty.
  std::vector<std::uint64_t> type_totals = {};
};

// Counts of one record that was processed or skipped at least once.
struct RecordSample {
  static constexpr std::uint32_t kUnknown = UINT32_MAX;
  std::uint32_t record = kUnknown;  // index into the database's records; kUnknown: name not known
  std::uint64_t processed = 0;
  std::uint64_t sum_ns = 0;  // of those in the buckets
  std::uint64_t self_ns = 0;
  std::uint64_t skipped_active = 0;
  std::uint64_t skipped_disabled = 0;
  std::array<std::uint64_t, kHistogramSlots> buckets{};  // not cumulative
  PutCounts puts{};                                      // writes to its fields
};

// One IOC, or another program that serves Channel Access. Those that are gone stay for a while with
// `up` false and no records.
struct IocSample {
  std::string name;  // label `ioc`, unique
  bool up = false;
  bool base = true;  // runs EPICS Base's database; false: has no records
  std::int32_t pid = 0;
  double start_time_seconds = 0;  // time of day
  std::string base_version;       // "7.0.8.1"; "" when it could not be told
  std::string executable;         // path as the IOC sees it
  std::optional<std::uint16_t> ca_port;
  std::vector<std::uint16_t> tcp_ports;      // all that it listens on
  bool records_attached = false;             // are its records counted?
  std::string problem;                       // why something of it is missing; "" = all is well
  std::shared_ptr<const Database> database;  // null while it could not be read
  std::vector<RecordSample> records;         // in any order
  std::uint64_t restarts = 0;                // times that an IOC of this name came again
  std::optional<HealthSample> health;        // while it runs
  std::shared_ptr<const IocMemorySample> memory;  // null while nothing of it was read
  std::vector<std::string> notes;                 // what this IOC does not tell, and why
  std::optional<OverheadSample> overhead = {};    // of the record probes
  std::vector<RecordLinkSample> links = {};       // with --records.links
  std::vector<RecordPutClientSample> put_clients = {};
  std::vector<ScanTimeSample> scan_times = {};
  std::vector<CompletionSample> completions = {};
  std::optional<ProcessingSample> processing = {};    // while its records are counted
  std::vector<RecordCauseSample> record_causes = {};  // with --records.causes
};

enum class PutOp { write, write_notify };

// Puts of one client on one PV. What is not known is "".
struct PutSample {
  std::string ioc;
  std::string pv;
  std::string client;  // address without port
  std::string user;
  std::string host;
  PutOp op = PutOp::write;
  std::uint64_t count = 0;
  double last_time_seconds = 0;  // time of day of the last one; 0: not known
};

// Puts that a server refused or could not do, from its answers.
struct PutFailureSample {
  std::string ioc, pv, client, user, host;
  std::string reason;  // "no_write_access", "put_failed", ...: the status' ECA_ name in words
  std::uint64_t count = 0;
};

// WRITE_NOTIFY: from the request to its answer, over all clients of a PV.
struct PutDurationSample {
  std::string ioc, pv;
  std::uint64_t sum_ns = 0;
  std::array<std::uint64_t, kPutHistogramSlots> buckets{};  // not cumulative
};

// What the CA clients of one IOC do. Counters since the exporter saw the IOC's first circuit.
struct CaServerSample {
  enum Access { none, read, write, read_write, unknown, kAccesses };
  std::string ioc;
  std::uint64_t circuits = 0;
  std::array<std::uint64_t, kAccesses> channels{};
  std::uint64_t unnamed_channels = 0;  // whose PV name is not known; not all are among `channels`
  std::uint64_t monitors = 0;
  std::uint64_t flow_controlled = 0;  // circuits whose client has turned its monitors off for now
  std::uint64_t gets = 0, monitor_updates = 0, echoes = 0, server_disconnects = 0;
  std::uint64_t received_bytes = 0, sent_bytes = 0;  // of TCP payload, as the server sees it
};

// What one client has open now at one IOC.
struct CaClientSample {
  std::string ioc, client, user, host;
  std::uint64_t circuits = 0, channels = 0, monitors = 0;
};

// Which record, and which field of it, a PV name leads to; for names that were put to.
struct PvSample {
  std::string ioc, pv, record, field;
};

// UDP name searches of one client.
struct SearchSample {
  std::string client;  // address; "(other)": clients for which there was no room
  std::uint64_t requests = 0;
};
// A name that a client searches again and again and that no server of this host has answered for.
struct SearchedName {
  std::string client, name;
  std::uint64_t requests = 0;
  double first_time_seconds = 0, last_time_seconds = 0;
};
// Beacons of one CA server on the host's networks.
struct BeaconSample {
  std::string server;  // address:port
  std::uint64_t beacons = 0;
  std::uint64_t anomalies =
      0;  // its sequence began anew or jumped: it was restarted, or two share it
};

// About the exporter itself.
struct ProbeSample {
  std::string probe;                         // "record_process", "ca_tap"
  bool loaded = false;                       // its programs are in the kernel
  std::uint64_t attachments = 0;             // uprobes, or sockets, that feed it now
  std::optional<std::uint64_t> runs;         // of its programs; only while kernel.bpf_stats_enabled
  std::optional<std::uint64_t> run_time_ns;  // the same
  std::optional<double> estimated_seconds = {};  // hits by what a hit costs, where that is known
};
struct MapSample {
  std::string map;
  std::uint64_t entries = 0;
  std::uint64_t capacity = 0;
};
struct DropSample {
  std::string probe;
  std::string reason;
  std::uint64_t count = 0;
};
struct CollectorSample {
  std::string collector;  // "discovery", "records", "puts"
  bool success = false;
  double duration_seconds = 0;
};

// Things of a kind that have no series of their own, but are summed up.
struct LimitedSample {
  std::string family;  // "records", "puts", ...
  std::uint64_t things = 0;
};

// How the last attempt to load the configuration went.
struct ConfigSample {
  bool successful = false;
  double success_time_seconds = 0;  // time of day of the last one that was
};

// One scrape.
struct Snapshot {
  std::vector<IocSample> iocs;
  std::vector<PutSample> puts;  // one for each set of labels
  std::vector<PutFailureSample> put_failures;
  std::vector<PutDurationSample> put_durations;
  std::vector<UnexpectedPutSample> unexpected_puts = {};  // where there is a policy
  std::vector<PolicyRuleSample> policy_rules = {};        // in their order
  std::uint64_t policy_look = 0;  // see policy::Scrapers: for whoever serves this
  std::vector<CaServerSample> ca_servers;
  std::vector<CaClientSample> ca_clients;
  std::vector<PvSample> pvs;
  std::vector<SearchSample> searches;
  std::vector<SearchedName> searched_names;  // those searched most often
  std::vector<BeaconSample> beacons;
  std::vector<ProbeSample> probes;
  std::vector<MapSample> maps;
  std::vector<DropSample> drops;
  std::vector<CollectorSample> collectors;
  std::vector<LimitedSample> limited;
  std::optional<ConfigSample> config;
  // What could not be read this time is absent, not gone: puts and clients, or searches and
  // beacons.
  bool puts_missing = false, searches_missing = false;
  bool detached = false;                             // all probes were taken off by the operator
  std::optional<HitCostSample> hit_cost;             // nothing when it was not measured
  std::optional<ScrapeCostSample> scrape_cost = {};  // of the scrapes before this one
};

}  // namespace ioc_exporter
