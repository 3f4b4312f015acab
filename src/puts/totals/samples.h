// Samples of what packets and server probes have counted, by names. Plain data.
// iocs/samples.h says what holds of all counters and times.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exposition/histogram_slots.h"

namespace ioc_exporter {

enum class PutOp { write, write_notify };

struct PutSample {
  std::string ioc;
  std::string pv;
  std::string client;  // address without port
  std::string user;
  std::string host;
  PutOp op = PutOp::write;
  std::uint64_t count = 0;
  double last_time_seconds = 0;  // time of day of the last one; 0: not known
  double created_seconds = 0;    // when there was none yet; 0: not known
  bool by_pva = false;           // by PV Access: `write` is a put, `write_notify` a remote call
};

struct PutFailureSample {
  std::string ioc, pv, client, user, host;
  std::string reason;  // "no_write_access", "put_failed", ...: the status' ECA_ name in words
  std::uint64_t count = 0;
  double created_seconds = 0;  // when there was none yet; 0: not known
  bool by_pva = false;         // by PV Access
};

struct PutDurationSample {
  std::string ioc, pv;
  std::uint64_t sum_ns = 0;
  std::array<std::uint64_t, kPutHistogramSlots> buckets{};  // not cumulative
  bool by_pva = false;                                      // by PV Access
};

// Circuits, channels and monitors that clients have open at a server now.
struct OpenConnections {
  enum Access { none, read, write, read_write, unknown, kAccesses };
  bool open_known = true;          // all but flow_controlled
  bool flow_control_known = true;  // flow_controlled
  std::uint64_t circuits = 0;
  std::array<std::uint64_t, kAccesses> channels{};
  std::uint64_t monitors = 0;
  std::uint64_t flow_controlled = 0;  // circuits whose client has turned its monitors off for now
};

struct ServerSample : OpenConnections {
  std::string ioc;
  bool packets_known = true;           // the fields below
  std::uint64_t unnamed_channels = 0;  // PV name unknown; not all are among `channels`
  std::uint64_t gets = 0, monitor_updates = 0, echoes = 0, server_disconnects = 0;
  std::uint64_t received_bytes = 0, sent_bytes = 0;  // of TCP payload, as the server sees it
  std::uint64_t unread_bytes = 0;                    // of those received
  // Puts to channels of other clients; nothing: its server was never probed.
  std::optional<std::uint64_t> to_others_channels = {};
  bool by_pva = false;  // by PV Access: circuits and channels alone
};

struct ClientSample {
  std::string ioc, client, user, host;
  std::uint64_t circuits = 0, channels = 0, monitors = 0;
  bool by_pva = false;  // by PV Access: `monitors` says nothing
};

// The client is a gateway.
struct GatewaySample {
  std::string ioc, client;
};

struct PvSample {
  std::string ioc, pv, record, field;
};

// A put with callback that waits for its end.
struct PendingPutSample {
  std::string ioc, pv;
  std::string client, user,
      host;                  // `inside`: `client` is the record whose CA link it is, or a thread
  std::string protocol;      // "ca", "pva" or "inside"
  double since_seconds = 0;  // time of day
};

struct PendingPutsSample {
  std::string ioc;
  std::uint64_t count = 0;
  double oldest_seconds = 0;             // age; 0: none waits
  std::vector<PendingPutSample> oldest;  // the ten oldest, the oldest first
};

struct SearchSample {
  std::string client;  // address; "(other)": clients for which there was no room
  std::uint64_t requests = 0;
};

struct SearchedName {
  std::string client, name;
  std::uint64_t requests = 0;
  double first_time_seconds = 0, last_time_seconds = 0;
};

struct BeaconSample {
  std::string server;  // address:port
  std::uint64_t beacons = 0;
};

// Source of the counts of an IOC's puts.
struct PutSourceSample {
  std::string ioc, protocol;
  std::string source;        // "server", "packets", "none"
  std::string why = {};      // it is not the server; "": it is, or it is no EPICS Base server
  double since_seconds = 0;  // all puts are counted, time of day; 0: they are not
};

// How often it changed.
struct PutSwitchSample {
  std::string ioc, protocol;
  std::uint64_t count = 0;
};

// All of it, at one moment.
struct PutsSamples {
  std::vector<PutSample> puts;  // one for each set of labels
  std::vector<PutFailureSample> put_failures;
  std::vector<PutDurationSample> put_durations;
  std::vector<ServerSample> servers;
  std::vector<ClientSample> clients;
  std::vector<GatewaySample> gateways;
  std::vector<PvSample> pvs;
  std::vector<PendingPutsSample> pending_puts;  // of IOCs where all are seen
  std::vector<SearchSample> searches;
  std::vector<SearchedName> searched_names;  // those searched most often
  std::vector<BeaconSample> beacons;
  // Values that could not be read this time are absent, not gone: puts and clients, or searches and
  // beacons.
  bool puts_missing = false, searches_missing = false;

  std::uint64_t unnamed_puts() const {
    std::uint64_t sum = 0;
    for (const PutSample& put : puts) sum += put.pv.empty() ? put.count : 0;
    return sum;
  }
};

}  // namespace ioc_exporter
