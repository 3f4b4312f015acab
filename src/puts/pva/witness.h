// PvaWitness: which puts the PVA servers of this host's IOCs (QSRV 1 and 2) were asked for.
//
// Entry probes on their functions count puts and failures by PV and client, with names from the
// server's own objects (bpf/puts/pva_witness.bpf.c). The probes of an IOC are off while it is
// stopped or traced, and while the operator wants it; its puts are not counted then.
//
// Not thread-safe.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/monotonic_totals.h"
#include "base/retry.h"
#include "base/trouble_log.h"
#include "exposition/self_samples.h"
#include "iocs/ioc.h"
#include "puts/pva/witness_object.h"
#include "puts/totals/put_totals.h"

namespace ioc_exporter::pva {

// An IOC that runs, as the witness is told of it.
struct WitnessedIoc {
  std::uint32_t number = 0;  // iocs::LiveIoc::number
  std::uint64_t serial = 0;  // of its life
  const iocs::Ioc* ioc = nullptr;
  bool left_alone = false;  // its code must not be touched now
};

// Why not all puts to the IOC can be heard, by the functions that its files name; "" = they can.
std::string what_is_missing(const iocs::Ioc& ioc);

class PvaWitness {
 public:
  using Clock = std::chrono::steady_clock;
  // Entries that were not used for so long are given up: the next put makes them again.
  static constexpr std::chrono::seconds kIdle{60};
  // How long entries that were given up are read on.
  static constexpr std::chrono::seconds kGrace{1};
  static constexpr std::size_t kMaxSeries = 100'000;
  using Counts = CounterValues<IOCX_PVA_COUNTS>;

  struct Options {
    kernel::RingUse ring = {};  // for the put log
    kernel::TraceUse traces = {};
  };

  static Result<PvaWitness> start(const Options& options);

  // Attaches to those that are new, and takes leave of those that are gone.
  void follow(const std::vector<WitnessedIoc>& iocs, Clock::time_point now);
  // Takes the probes off all IOCs, until the next follow().
  void detach_all(Clock::time_point now);
  // Somebody reads the sums now: see CaPutTotals.
  void note_reading(Clock::time_point now);
  // What was asked for since the last call goes into the sums.
  Result<void> collect(Clock::time_point now);
  // Frees what is not used any more. Every second or two.
  Result<void> reap(Clock::time_point now);
  // Drops the sums of an IOC.
  void forget(std::uint32_t number);
  // Drops what had its last put before `before_ns` (CLOCK_MONOTONIC).
  void expire(std::uint64_t before_ns);

  // Puts, as PutOp::write.
  const ca::CaPutTotals& puts() const { return puts_; }
  // Those that access rules forbid, as PutOp::write; that failed otherwise, as PutOp::write_notify.
  const ca::CaPutTotals& failures() const { return failures_; }
  // By IOC number: "" = its server is heard, else why it is not. Who serves no PVA is not in it.
  const std::map<std::uint32_t, std::string>& unheard() const { return unheard_; }
  std::uint64_t attachments() const;
  Result<std::vector<DropSample>> drops() const;
  MapSample map() const;
  PvaWitnessObject& object() { return object_; }
  kernel::LostEvents lost_events() const { return object_.lost_events(); }
  // The IOC that the programs call so.
  std::optional<std::uint32_t> number_of(std::uint32_t generation) const;
  std::optional<kernel::ProgramStats> stats() const { return object_.stats(); }

 private:
  struct Watched {
    std::uint32_t number = 0;
    std::int32_t pid = 0;
    std::string name;  // for the log
    iocx_pva_ioc config{};
    std::vector<UniqueFd> probes;
    std::size_t functions = 0;  // that were there to attach to
    Retry attaching;
    CounterGrowth<IOCX_PVA_COUNTS> rest;
    Clock::time_point renewed{};
    bool seen = false;  // by this follow()
  };
  struct KeyLess {
    bool operator()(const iocx_pva_key& a, const iocx_pva_key& b) const {
      return std::memcmp(&a, &b, sizeof a) < 0;
    }
  };
  struct Source {
    CounterGrowth<IOCX_PVA_COUNTS> growth;
    ca::CaPutLabels labels;
    Clock::time_point changed{};
  };
  struct Life {
    std::uint32_t number = 0;
  };
  // A generation that no put is added to any more.
  struct GivenUp {
    std::uint32_t generation = 0;
    std::uint32_t holder = 0;  // to be free as well; 0: its IOC lives on
    Clock::time_point since{};
  };

  explicit PvaWitness(PvaWitnessObject object);

  void look_at(const WitnessedIoc& ioc, Clock::time_point now);
  Result<void> attach(Watched& watched, const iocs::Ioc& about);
  void end(const std::vector<Watched*>& those, Clock::time_point now);
  void forget_life(std::uint64_t serial, Clock::time_point now);
  Watched* start_life(const WitnessedIoc& ioc);
  Result<void> renew(Watched& watched, Clock::time_point now);
  Result<void> erase(const std::set<std::uint32_t>& generations);
  void observe(const iocx_pva_key& key, const iocx_pva_put& put, Clock::time_point now);
  void observe_rest(Watched& watched);
  void count(const ca::CaPutLabels& labels, const Counts& growth, std::uint64_t last_put);
  std::uint32_t held_by(std::uint32_t holder) const;

  PvaWitnessObject object_;                          // before the probes: they die first
  std::map<std::uint64_t, Watched> watched_;         // by serial
  std::map<std::uint32_t, Life> lives_;              // by generation, those given up included
  std::map<iocx_pva_key, Source, KeyLess> sources_;  // that have an entry
  std::deque<GivenUp> given_up_;
  std::vector<std::uint32_t> free_holders_;
  ca::CaPutTotals puts_{kMaxSeries}, failures_{kMaxSeries};
  TroubleLog trouble_;
  std::map<std::uint32_t, std::string> unheard_;
  std::uint32_t last_generation_ = 0;
};

}  // namespace ioc_exporter::pva
