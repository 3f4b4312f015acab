// HostView: the IOCs on this host, as a scan has found them, and those that have ended. A published
// view (Host::view()) never changes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/retry.h"
#include "iocs/gone_iocs.h"
#include "iocs/ioc.h"
#include "iocs/memory/database_reader.h"
#include "iocs/samples.h"

namespace ioc_exporter::iocs {

// "ioc NAME (pid 812)", for messages.
std::string subject_of(const Ioc& ioc);

// An IOC that runs.
struct LiveIoc : GoneIocs::Life {
  Ioc ioc;
  // Of this life: an exec in place, or another name, begins another under the same IocId.
  std::uint64_t serial = 0;
  std::shared_ptr<const Database> database;
  FieldOffsets offsets;                  // with the database
  bool initialized = false;              // iocInit has run: the database is final
  std::optional<std::uint16_t> ca_port;  // of its CA server, once it is known
  std::string problem;                   // why its database could not be read
  Retry reading;                         // of its database
  std::chrono::steady_clock::time_point found;
  bool has_unknown_records = false;  // its database lacks records that it has
};

class HostView {
 public:
  using Clock = std::chrono::steady_clock;

  HostView(std::chrono::milliseconds keep_gone, std::size_t most_gone)
      : gone_(keep_gone, most_gone) {}

  const std::map<IocId, LiveIoc>& live() const { return live_; }
  // Null: it has ended, also where another program runs in its process now.
  const LiveIoc* find(const IocId& id, std::uint64_t serial) const;
  // An IOC is young: what it listens on may change at any moment.
  bool any_young(Clock::time_point now) const;

  // Names by number; those that are gone are there until their counts are forgotten.
  std::map<std::uint32_t, std::string> names() const;
  // The same names: of all that metrics may be about.
  std::unordered_set<std::string> known_names() const;
  // Whether anything of that IOC is on the page.
  bool knows(const std::string& name) const {
    return gone_.numbers().contains(name) || gone_.contains(name);
  }
  // Names of gone IOCs, and their users.
  std::map<std::string, NameClaim> gone_names() const { return gone_.names(); }
  // IOCs that run and are not followed: all places are taken.
  std::uint64_t left_out() const { return left_out_; }

  // Facts of all: those that run, then those that are gone.
  std::vector<IocFacts> facts() const;

 protected:
  IocFacts facts(const LiveIoc& live) const;

  std::map<IocId, LiveIoc> live_;
  GoneIocs gone_;
  std::uint64_t left_out_ = 0;
};

}  // namespace ioc_exporter::iocs
