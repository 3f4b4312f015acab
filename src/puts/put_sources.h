// CaPutSources: the source of each IOC's puts: its server, or packets. Pure: no system calls.
//
// A switch is a late start, which may miss puts or count them twice. The upper bound follows from
// the packets: puts that were sent between the two steps of the switch, and puts that the server
// had not served at the first step; never more than the packets have shown since the switch before.
//
// - To the server: begin_switch(), the probes are attached, to_server(). Packets count until
//   to_server(). Puts that were sent before it and served with the probes in place count twice.
// - To the packets: begin_switch(), leave_server(), the probes are detached, end_switch(). Packets
//   count from leave_server() on. Puts that were sent before it and served without the probes are
//   missing; those sent after it and served with the probes count twice.
//
// Of a server that is to be probed, nobody counts puts before it is: what packets show of
// connections that were open before may be an array that looks like puts.
//
// A server's process may have ended, and another one may serve the same port, before that is
// noticed. So circuits that began after the process was seen last wait for the next look: its own
// are the server's; those that began after its end are the packets', whichever process has served
// them. Where it is not known when it has ended, their puts are missing.
#pragma once

#include <cstdint>
#include <map>

namespace ioc_exporter::ca {

class CaPutSources {
 public:
  // Bytes in a server's sockets that it has not read.
  struct Unread {
    std::uint64_t bytes = 0;
    std::uint64_t sockets = 0;
  };
  using UnreadByIoc = std::map<std::uint32_t, Unread>;
  struct Switched {
    std::uint64_t missing = 0, twice = 0;  // at most
  };
  // Bytes of the smallest put, and puts that a server may have read of a circuit before it serves
  // them: rsrv's buffer has 16 KiB (MAX_TCP).
  static constexpr std::uint64_t kSmallestPut = 16;
  static constexpr std::uint64_t kReadAhead = 16384 / kSmallestPut;

  // Source that counts the puts of a circuit. Times are the kernel's (kernel_ns()).
  enum class Counts { server, packets, not_known_yet, nobody };

  // Packets have shown so many more puts to the IOC.
  void saw(std::uint32_t ioc, std::uint64_t puts) { all_[ioc].seen += puts; }
  // Total of puts whose names are not kept because the server counts them. Without the server they
  // are missing.
  void saw_unnamed(std::uint32_t ioc, std::uint64_t in_all);
  // Every second or two, after saw().
  void look();

  // `port`: of its CA server; what is sent to another one is not that server's. 0: not known.
  bool is_server(std::uint32_t ioc, std::uint16_t port) const;
  // Of circuits that began at `since_ns`.
  Counts counts(std::uint32_t ioc, std::uint16_t port, std::uint64_t since_ns) const;
  // The same for results of puts.
  bool server_tells_results(std::uint32_t ioc, std::uint16_t port) const;
  Counts counts_results(std::uint32_t ioc, std::uint16_t port, std::uint64_t since_ns) const;
  // Nobody counts these puts.
  void add_missing(std::uint32_t ioc, std::uint64_t puts) { all_[ioc].switched.missing += puts; }
  // Its server will be probed, or that has failed, and packets count from `now_ns` on.
  void expect_server(std::uint32_t ioc) { all_[ioc].expected = !all_[ioc].server; }
  void expect_none(std::uint32_t ioc, std::uint64_t now_ns);
  // Since when packets count its puts, as far as its server does not; UINT64_MAX: not yet.
  std::uint64_t packets_since(std::uint32_t ioc) const;
  std::uint16_t port(std::uint32_t ioc) { return all_[ioc].port; }
  void set_port(std::uint32_t ioc, std::uint16_t port) { all_[ioc].port = port; }

  // The processes of all servers of that protocol that count ran then; of one.
  void saw_processes(std::uint64_t at_ns, bool by_pva = false);
  void saw_process(std::uint32_t ioc, std::uint64_t at_ns);
  // The server's process has ended, at that time; 0: that is not known. Before begin_switch()
  // and leave_server().
  void process_ended(std::uint32_t ioc, std::uint64_t at_ns);

  void begin_switch(const UnreadByIoc& unread);
  // `results`: the server reports the results of puts, too. Else packets do.
  void to_server(std::uint32_t ioc, bool results);
  void leave_server(std::uint32_t ioc, std::uint64_t now_ns = 0);
  void end_switch();

  // By IOC, of those whose server has counted puts, or was to.
  std::map<std::uint32_t, Switched> switched() const;
  void forget(std::uint32_t ioc) { all_.erase(ioc); }

 private:
  struct Source {
    std::uint64_t seen = 0;
    std::uint64_t unnamed = 0;                     // of them, the last saw_unnamed()
    std::uint64_t seen_before = 0, seen_last = 0;  // as of the last two looks
    std::uint64_t at_switch = 0;                   // seen before the last switch
    std::uint64_t at_begin = 0, unserved = 0;      // as of begin_switch()
    std::uint16_t port = 0;
    bool server = false;
    bool expected = false;         // that it will be
    std::uint64_t packets_ns = 0;  // packets_since(), while it is not
    bool results = false;          // of the last switch to the server
    bool leaving = false;          // between leave_server() and end_switch()
    bool switches = false;
    bool left = false;       // ever
    bool ended = false;      // its process has
    bool end_known = false;  // when: `ran_ns`
    std::uint64_t ran_ns = 0;
    Switched switched = {};
  };

  std::map<std::uint32_t, Source> all_;
};

}  // namespace ioc_exporter::ca
