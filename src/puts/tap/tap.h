// The Channel Access tap: counts the puts that reach the CA servers of this host, per channel.
//
// The kernel counts (bpf/tap/tap.bpf.c). User space says which servers to watch, gives the counters
// their names, and frees what has ended:
//  - A channel ends with CLEAR_CHANNEL or SERVER_DISCONN, a circuit with FIN, RST or a new SYN+ACK
//  on its
//    4-tuple. A channel's counters are taken for the last time at least kGrace after its end was
//    noticed: no program holds a segment that long (it is at most some 300 us).
//  - The connection itself is remembered for kLinger, so that a segment that is sent again does not
//  pass
//    for a connection that was open before the tap; shorter while the table is more than half full.
//  - A connection whose end was not seen goes when two looks at the kernel's own list of sockets,
//    kSocketLook apart, do not find it; one whose server is no longer watched goes at once.
//
// The IOC of a circuit is the one that listens on its port now, not the one that did when it began:
// clients come back within milliseconds of an IOC's restart, before the IOC is found, and perhaps
// before the end of the former one is known. So a server that is not named any more stays watched
// for kKeepServer, as one whose IOC is still to come.
//
// Not thread-safe: one call at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/rooted_fs.h"
#include "exposition/self_samples.h"
#include "puts/put_sources.h"
#include "puts/tap/connections.h"
#include "puts/tap/kept_channels.h"
#include "puts/tap/namespaces.h"
#include "puts/tap/server.h"
#include "puts/tap/tap_object.h"
#include "puts/tap/tap_seed.h"
#include "puts/totals/samples.h"
#include "puts/totals/server_totals.h"
#include "puts/totals/totals.h"
#include "shared/putlog.h"

namespace ioc_exporter::ca {

struct CaTapOptions {
  RootedFs fs;
  CaTapSizes sizes;
  std::size_t max_series = kCaPutSeries;  // sets of labels; puts over it are in the drops
  std::shared_ptr<CaTotals> totals = {};  // null: its own
  CaTapLock lock = CaTapLock::choose;
  // Read also what clients on this host send to the servers elsewhere that are named or learned.
  bool remote_servers = false;
  kernel::RingUse ring = {};  // for the put log
};

// Servers stand with the caller's numbers. Puts of channels whose server has none yet wait until it
// has.
struct CaTapReading {
  std::vector<CaPutCount> puts;          // sorted by label
  std::vector<CaPutFailure> failures;    // sorted by label
  std::vector<CaPutDuration> durations;  // of PVs with put-callbacks
  std::vector<CaServerCount> servers;    // of those with a circuit since they were first seen
  std::vector<CaClientCount> clients;    // open now
  std::vector<DropSample> drops;         // every reason, also those that are 0
  std::vector<MapSample> maps;           // fill of circuits and pages as of the last reap()
};

class CaTap {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kGrace{1};
  static constexpr std::chrono::seconds kLinger{60};
  static constexpr std::chrono::seconds kLingerWhenCrowded{2};
  // How long a channel that has ended waits for its IOC to be found.
  static constexpr std::chrono::seconds kPatience{15};
  static constexpr std::chrono::seconds kSocketLook{30};
  static constexpr std::chrono::seconds kSocketLookWhenCrowded{5};
  // How often requests for channels are looked through for those that will never be answered.
  static constexpr std::chrono::seconds kSweep{30};
  // How long puts on a channel that was open before the tap wait for seed() to name it.
  static constexpr std::chrono::seconds kSeedPatience{5};
  // How long a server is watched on: longer than most IOCs take from their end to their next
  // client.
  static constexpr std::chrono::seconds kKeepServer{120};

  // Loads and attaches in the calling thread's network namespace. Nothing is watched yet.
  static Result<CaTap> start(CaTapOptions options);

  // From now on these servers are watched, and for a while those that were before. Cheap when
  // nothing changed: call it at every look for IOCs, it also takes note of the host's new
  // addresses.
  Result<void> set_servers(const std::vector<CaServer>& servers,
                           Clock::time_point now = Clock::now());
  // Ports of datagrams alone, watched on top of the servers' from the next set_servers() on: where
  // searches and beacons go.
  void set_udp_ports(CaPorts ports);
  // Ports of UDP sockets, in the namespaces that are watched.
  Result<CaPorts> udp_sockets() const;
  // Watches servers in the network namespace of `ns_fd` (an open /proc/PID/ns/net; not kept), too,
  // and gives it a number; one that is watched already keeps its number. While it is watched it
  // outlives its last process, so remove it when its last server has gone.
  Result<std::uint32_t> add_namespace(int ns_fd);
  // Servers, circuits and channels in it go, what was counted stays. The number may be used again.
  Result<void> remove_namespace(std::uint32_t net);
  // Takes the filter off all packets, until attach(): what is sent meanwhile is not counted, and
  // the streams that go on have a gap, as when packets were missed.
  void detach() { namespaces_.detach_all(); }
  Result<void> attach() { return namespaces_.attach_all(); }
  // Of packet sockets.
  std::uint64_t attachments() const { return namespaces_.attachments(); }
  // Servers that the programs learned of themselves and set_servers() did not name: `ioc` is
  // kCaIocToCome, or kCaRemote for those elsewhere. They go after kKeepServer, unless they are
  // named.
  Result<std::vector<CaServer>> learned(Clock::time_point now = Clock::now());
  // Frees what has ended. Call it every second or two.
  Result<void> reap(Clock::time_point now = Clock::now());
  Result<CaTapReading> collect(Clock::time_point now = Clock::now());
  // Circuits and channels that were open before the tap, from the server's own tables. The server
  // is named by set_servers() before those are read. What the tap saw itself wins, so that it does
  // no harm to call this again.
  Result<CaSeedResult> seed(const CaSeed& seed, Clock::time_point now = Clock::now());
  // Circuits with the names of their open channels, for the next run; not those to IOCs of
  // `without`.
  Result<CaKeptCircuits> open_circuits(const std::set<std::uint32_t>& without) const;
  // Seeds the circuits of an earlier run whose servers are watched by now, takes them out of
  // `before` and tells how many channels got their names. Circuits whose socket is another one, and
  // those to IOCs of `without`, get none.
  Result<std::uint64_t> restore(CaKeptCircuits& before, const std::set<std::uint32_t>& without,
                                Clock::time_point now = Clock::now());
  // Drops the totals of an IOC that has left.
  Result<void> forget(std::uint32_t ioc);

  // Changes whose word counts for an IOC's puts, as CaPutSources says. begin_source_switch() is
  // once for all that switch at the same time.
  Result<void> begin_source_switch(Clock::time_point now = Clock::now());
  Result<void> let_server_count(std::uint32_t ioc, bool results,
                                Clock::time_point now = Clock::now());
  Result<void> leave_server(std::uint32_t ioc);
  // CaPutSources::process_ended().
  void process_ended(std::uint32_t ioc, std::uint64_t at_ns);
  // TCP ports at which all servers are probed: their puts by packets are not in the put log.
  void set_told_ports(std::set<std::uint16_t> ports);
  // In any thread.
  kernel::LostEvents lost_events() const;
  // Servers, by the caller's numbers and by port, that are probed for their puts and results.
  // `seen`: their processes, some time after that. Of older circuits the channels are not kept.
  using CaToldServers = std::set<std::pair<std::uint32_t, std::uint16_t>>;
  Result<void> set_told(CaToldServers servers, Clock::time_point seen);
  bool is_told(std::uint32_t ioc, std::uint16_t port) const { return told_.contains({ioc, port}); }
  Result<void> end_source_switch(Clock::time_point now = Clock::now());
  CaPutSources& sources() { return sources_; }
  const CaPutSources& sources() const { return sources_; }
  // Looks at all channels: identify() may know more names then.
  Result<void> look(Clock::time_point now = Clock::now()) { return observe_channels(now); }
  // Owner of a put's event; nothing: not known, or not any more. For the put log.
  std::optional<CaPutIdentity> identify(const iocx_putlog_event& event) const;
  CaTapObject& object() { return object_; }
  const CaTapObject& object() const { return object_; }
  // Server that its client is connected to, "10.0.0.1:5064"; "": not known.
  std::string server_of(const CaPutPlace& place, std::uint16_t port, std::uint32_t net) const;

  // Channels with puts whose names are not known, by IOC, as of the last reap(). While there are
  // some, it is worth reading the server's tables for seed() again.
  const std::map<std::uint32_t, std::uint64_t>& unnamed_channels() const { return unnamed_; }

  std::optional<kernel::ProgramStats> stats() const { return namespaces_.stats(); }
  CaTapLock lock() const { return object_.lock(); }
  std::uint32_t waiting_for_acks() const { return object_.waiting(); }
  // The packet sockets, for the helper that opens them.
  CaPacketTaps& packet_taps() { return namespaces_.taps(); }
  // For programs that read datagrams.
  CaSharedMaps shared_maps() const { return object_.shared_maps(); }

 private:
  using Since = Clock::time_point;
  using ServerMap = std::map<iocx_ca_server, std::uint32_t, CaKeyLess>;
  struct Learned {
    std::uint32_t ioc;
    Since since;
  };
  struct Ends;  // findings of one reap()
  struct Outcome {
    std::uint64_t channel;
    std::uint32_t status;  // or kDurations
    std::uint64_t count;
  };
  // Holder of a share of a table, as CaTapObject::take_share() takes it.
  struct Holder {
    std::uint64_t circuit;
    std::uint32_t address;
  };
  static constexpr std::uint32_t kDurations = IOCX_CA_NORMAL;  // in place of a status: ca_outcomes
  struct UnownedEntries;
  enum class SeedOutcome { added, named, known, ended, no_room };
  struct Held {
    std::uint64_t channel;
    std::uint32_t ioc;
    Since since;
  };
  struct Identity {
    std::string user, host;
  };
  // Where a slot's puts go, and what was seen of them.
  struct Placed {
    std::uint64_t channel = 0;
    std::uint32_t ioc = 0;
    std::uint16_t server_port = 0;
    std::uint64_t since_ns = 0;  // its circuit began
    CounterGrowth<2> growth;
    CaPuts kept{};     // that are the packets' to count
    CaPuts waiting{};  // until it is known whose they are
  };
  struct Named {
    std::uint64_t circuit = 0;
    bool open = false;
    bool shared = false;  // circuits have SIDs of their own: this is not rsrv
    std::string name;
  };

  CaTap(CaTapOptions options, CaTapObject object, CaNamespaces namespaces);

  void keep_left_servers(ServerMap& wanted, Clock::time_point now);
  Result<void> make_room_for(const ServerMap& wanted);
  Result<void> update_servers(const ServerMap& wanted);
  Result<void> watch_port(const iocx_ca_port& port);
  Result<void> leave_port(const iocx_ca_port& port);
  Result<void> read_learned(Clock::time_point now);
  Result<void> forget_learned(Clock::time_point now);
  Result<void> for_each_socket(
      SocketKind kind, const std::function<void(const InetSocket&, std::uint32_t)>& each) const;
  Result<CaSocketCookies> read_all_connections() const;
  Result<void> give_circuits_their_iocs();
  void note_ioc(const iocx_ca_flow_key& key, const iocx_ca_flow& flow);
  Result<void> observe_outcomes();
  // `open`: to add what is open to; or null.
  Result<void> observe_flows(CaOpenCounts* open = nullptr);
  Result<std::vector<DropSample>> read_drops() const;
  Result<std::vector<MapSample>> read_maps() const;
  Result<void> free_strangers(const std::vector<Outcome>& strangers);
  Result<void> free_outcome(std::uint64_t channel, std::uint32_t status);
  Result<void> free_outcomes(const std::set<std::uint64_t>& channels);
  Result<void> observe_channels(Clock::time_point now);
  Result<void> observe_channel(std::uint32_t slot, Clock::time_point now);
  Result<bool> waits_for_seed(std::uint32_t slot, std::uint32_t ioc,
                              const iocx_ca_channel_info& info, Clock::time_point now);
  void count_unnamed(std::uint32_t slot);
  void note_place(std::uint32_t slot, std::uint32_t ioc, const iocx_ca_channel_info& info);
  CaPutSources::Counts note_counts(Placed& placed, const CaPuts& puts);
  std::uint64_t waiting_puts(std::uint32_t slot) const;
  void open_slot(std::uint32_t slot, CaPutLabels labels, const CaPuts& puts,
                 std::uint64_t last_put);
  Result<CaPutSources::UnreadByIoc> read_unread() const;
  Result<bool> is_joined(std::uint64_t circuit);
  void note_circuit(const iocx_ca_flow& flow);
  void log_packets(std::uint32_t ioc);
  CaPutLabels put_labels(std::uint32_t ioc, const iocx_ca_channel_info& info) const;
  Result<CaPutLabels> labels_by_sid(std::uint32_t slot, CaPutLabels labels);
  Result<void> learn_names();
  Result<std::optional<std::uint64_t>> seed_circuit(std::uint32_t ioc, const CaSeedCircuit& circuit,
                                                    CaSeedResult& result);
  Result<std::optional<std::uint64_t>> add_circuit(std::uint32_t ioc, const CaSeedCircuit& circuit);
  Result<SeedOutcome> seed_channel(const iocx_ca_channel_info& info, const CaSeedChannel& channel);
  Result<SeedOutcome> add_channel(const iocx_ca_channel_info& info, const CaSeedChannel& channel);
  Result<SeedOutcome> name_slot(std::uint32_t slot, const iocx_ca_channel_info& info,
                                const CaSeedChannel& channel);
  Result<void> name_ended(const iocx_ca_channel_info& info, const CaSeedChannel& channel);
  Result<void> name_info(std::uint32_t slot, iocx_ca_channel_info named);
  Result<void> relabel_circuits(const std::set<std::uint64_t>& circuits);
  std::uint64_t new_id() { return IOCX_CA_USER_IDS | ++last_id_; }
  Result<void> read_flows(Ends& ends);
  Result<void> look_at_sockets(Ends& ends, Clock::time_point now);
  Result<void> free_channels(const Ends& ends, Clock::time_point now);
  Result<void> free_flows(const Ends& ends, Clock::time_point now);
  std::optional<std::uint32_t> ioc_of(std::uint64_t circuit, std::uint32_t noted) const;
  Result<void> free_channel(std::uint32_t slot, Clock::time_point now);
  Result<void> read_unowned(UnownedEntries& unowned);
  Result<void> free_unowned(const Ends& ends, const UnownedEntries& unowned, Clock::time_point now);
  Result<void> free_pages(const Ends& ends, Clock::time_point now);
  Result<void> remove_flow(const iocx_ca_flow_key& key, std::uint64_t circuit);
  bool is_elsewhere(const iocx_ca_flow_key& key) const;
  ServerMap::const_iterator find_server(const iocx_ca_flow_key& key) const;
  bool is_served(const iocx_ca_flow_key& key) const;
  void look_at_server(const iocx_ca_flow_key& key);

  CaTapOptions options_;
  CaTapObject object_;
  CaNamespaces namespaces_;  // goes before the object
  std::shared_ptr<CaTotals> totals_;
  CaPutSources sources_;
  CaToldServers told_;
  std::set<std::uint16_t> told_ports_;
  // Puts that packets count and that no source has told the put log.
  std::uint64_t unlogged_ = 0;  // atomic
  std::vector<Placed> placed_;  // by slot
  CaServerTotals server_totals_;
  ServerMap servers_;                                        // as the kernel has them
  CaPorts ports_;                                            // likewise, those that are watched
  CaPorts udp_ports_;                                        // of these, those that no server needs
  std::map<iocx_ca_server, Since, CaKeyLess> left_servers_;  // watched on, since when
  bool servers_changed_ = true;  // and what follows from that is not done yet
  std::map<std::uint64_t, std::uint32_t>
      iocs_;  // of circuits for which the kernel noted another one
  std::map<iocx_ca_server, Learned, CaKeyLess> learned_;  // as of the last look
  std::set<iocx_ca_server, CaKeyLess> remote_peers_;      // of circuits, found by a wildcard alone
  std::vector<bool> used_;                        // slots that hold a channel, as of the last look
  std::uint32_t used_end_ = 0;                    // none of them from here on
  std::map<std::uint32_t, Since> gone_channels_;  // slot
  std::map<std::uint32_t, Since> gone_orphans_;   // slot, of channels whose IOC is not known yet
  std::map<std::uint64_t, Since> gone_requests_;  // channel
  std::map<std::uint64_t, Since> gone_circuits_;  // circuit
  std::map<std::uint32_t, Since> gone_pages_;     // page
  std::map<std::uint64_t, bool> without_socket_;  // circuits that the last look did not find
  std::optional<Since> looked_at_sockets_;
  // Entries of ca_failures and ca_outcomes at the last look, and their holders: by channel and
  // status, or kDurations.
  std::map<std::pair<std::uint64_t, std::uint32_t>, Holder> outcome_keys_;
  std::uint64_t late_answers_ = 0;
  std::optional<Since> swept_;
  std::map<std::uint32_t, std::uint64_t> unnamed_;  // by IOC
  std::map<std::uint32_t, Held> held_;              // slots that wait for seed()
  std::map<std::uint64_t, Identity> identities_;    // of circuits whose own the kernel has not seen
  std::unordered_map<std::uint64_t, bool> joined_;  // circuits, as of the last look
  // Names of channels by IOC and SID; made when a circuit has written to a SID that is not its own.
  std::optional<std::map<std::pair<std::uint32_t, std::uint32_t>, Named>> names_;
  std::uint64_t last_id_ = 0;
  std::uint64_t circuits_ = 0;
  std::uint64_t pages_ = 0;           // in use
  std::uint64_t puts_elsewhere_ = 0;  // to servers that turned out to be no IOC
};

}  // namespace ioc_exporter::ca
