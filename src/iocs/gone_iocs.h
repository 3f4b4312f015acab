// GoneIocs: names of IOCs with their numbers, and what is kept of IOCs that have ended. Not
// thread-safe.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "iocs/find/name_registry.h"
#include "iocs/samples.h"

namespace ioc_exporter::iocs {

class GoneIocs {
 public:
  using Clock = std::chrono::steady_clock;
  // Longest time that counts of a gone IOC are kept; from then on only its name is known.
  static constexpr std::chrono::minutes kKeepCounts{5};
  // An IOC that was known for less leaves with its counts.
  static constexpr std::chrono::minutes kKnownWell{10};
  // More than an honest host has.
  static constexpr std::size_t kMost = 1024;

  GoneIocs(std::chrono::milliseconds keep, std::size_t most);

  // An IOC runs by this name now.
  struct Life {
    std::uint32_t number = 0;              // of the name: stays the same when the IOC is restarted
    Clock::time_point known_since;         // its name, as its user's
    bool restarted_by_supervisor = false;  // that started the last one of this name, too
  };
  Life begin(const std::string& name, uid_t user, const Supervisor& supervisor,
             Clock::time_point now);
  // It has ended; `facts` are the last ones. `keeps_name`: it may come again by this name.
  void end(IocFacts facts, uid_t user, const Life& life, bool keeps_name, Clock::time_point now);
  // It runs under another name: this one is not reported as down. Its counts stay for a while, for
  // the last scrape of them.
  void rename(const std::string& name, uid_t user, const std::string& user_name, const Life& life,
              Clock::time_point now);
  // Nothing of it is kept.
  void forget_counts(const std::string& name, std::uint32_t number);
  // Lets go those whose time is over. Whether there were any.
  bool tidy(Clock::time_point now);

  std::uint32_t number_of(const std::string& name);
  // Name that is no IOC's of this host.
  void release(const std::string& name);
  std::vector<std::uint32_t> take_forgotten();
  const std::map<std::string, std::uint32_t>& numbers() const { return numbers_; }
  // Times that an IOC of this name came again.
  std::uint64_t restarts(const std::string& name) const {
    const auto found = restarts_.find(name);
    return found == restarts_.end() ? 0 : found->second;
  }
  bool contains(const std::string& name) const { return gone_.contains(name); }
  std::map<std::string, NameClaim> names() const;
  void add_facts(std::vector<IocFacts>& to) const;

 private:
  struct Gone {
    bool is_renamed = false;
    IocFacts facts;
    std::optional<std::uint32_t> number;  // none: its counts are forgotten
    NameClaim claim;
    Clock::time_point known_since, counts_until, until;
  };
  using GoneByName = std::map<std::string, Gone>;

  GoneByName::iterator forget(GoneByName::iterator gone);
  void forget_greediest();

  std::chrono::milliseconds keep_, keep_counts_;
  std::size_t most_;
  GoneByName gone_;
  std::map<std::string, std::uint32_t> numbers_;
  std::map<std::string, std::uint64_t> restarts_;  // of the names in numbers_
  std::vector<std::uint32_t> forgotten_;
  std::uint32_t next_number_ = 1;
};

}  // namespace ioc_exporter::iocs
