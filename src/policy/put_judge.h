// PutJudge: finds the puts that the policy does not allow, from the totals of puts. Pure.
//
// Every set of labels is judged once for each policy. At each look the growth of a total is counted
// for the rule that decides. No put is counted twice or lost when the policy changes.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/monotonic_totals.h"
#include "policy/policy.h"
#include "puts/server_key.h"
#include "puts/totals/samples.h"

namespace ioc_exporter {

// Puts by one protocol that the policy does not allow, of both operations together. Times in
// seconds since 1970; 0: not known.
struct UnexpectedPutSample {
  std::string ioc, pv, client, user, host;
  std::string rule;    // the deciding one; "default" where none matched
  std::string action;  // "unexpected", "forbidden" or "unjudged"
  std::uint64_t count = 0;
  double last_time_seconds = 0;     // of the last one
  double created_time_seconds = 0;  // when there was none yet
  bool by_pva = false;
};

// Puts that one rule has decided about.
struct PolicyRuleSample {
  std::string rule;    // "default": where none matched
  std::string action;  // "allowed", "expected", or one of the others
  std::uint64_t puts = 0;
};

// All of it, at one moment.
struct PolicySamples {
  std::vector<UnexpectedPutSample> unexpected_puts = {};  // where there is a policy
  std::vector<PolicyRuleSample> policy_rules = {};        // in their order
};

}  // namespace ioc_exporter

namespace ioc_exporter::policy {

// A total of the tap. It grows until it is dropped, and begins at 0 when it comes back.
struct PutTotal {
  std::uint32_t server = 0;  // never used again for another one
  std::string_view ioc;      // the server's name; two that follow each other may share it
  Put put;
  std::uint64_t count = 0;
  double last_time =
      0;  // of the last one, seconds since 1970; 0 or before the last look: not known
  std::uint64_t serial = 0;  // another one: it was dropped, and has begun at 0 again
  puts::Protocol protocol = puts::Protocol::ca;
};

class PutJudge {
 public:
  // From now on puts are judged by `policy`; null: by none. Call look() right before, for the puts
  // until now.
  void set_policy(std::shared_ptr<const Policy> policy);
  const std::shared_ptr<const Policy>& policy() const { return policy_; }

  // Judges the growth of all totals, at `now` (seconds since 1970).
  void look(std::span<const PutTotal> totals, double now);

  // Series of puts that are unexpected or forbidden. A series whose IOC, total or rule is gone
  // stays for a week after its last put; of more than 5,000 such series the oldest of the clients
  // that have most leave earlier.
  std::vector<UnexpectedPutSample> unexpected() const;
  // Numbers of puts that each rule of the policy, and its default, decided about.
  std::vector<PolicyRuleSample> rules() const;

 private:
  struct Key {
    std::uint32_t server = 0;
    std::string pv, client, user, host;
    PutOp op = PutOp::write;
    bool inside = false;  // its client is no address
    puts::Protocol protocol = puts::Protocol::ca;
  };
  using KeyView = std::tuple<std::uint32_t, std::string_view, std::string_view, std::string_view,
                             std::string_view, PutOp, bool, puts::Protocol>;
  static KeyView view(const Key& key);
  static KeyView view(const PutTotal& total);
  static KeyView view(const KeyView& key) { return key; }
  struct Less {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return view(a) < view(b);
    }
  };
  struct State {
    CounterGrowth<1> growth;
    std::uint64_t serial = 0;   // of the total
    std::uint64_t seen = 0;     // number of the last look
    std::uint32_t verdict = 0;  // the rule that decides, as Policy::decide() has it
  };
  using States = std::map<Key, State, Less>;
  struct Series {
    puts::Protocol protocol = puts::Protocol::ca;
    std::string ioc, pv, client, user, host, rule;
    Action action = Action::unexpected;
    auto operator<=>(const Series&) const = default;
  };
  struct Count {
    std::uint64_t total = 0;
    double created = 0;  // the last look without it; 0: there was none
    double last_time = 0;
  };
  using RuleName = std::pair<std::string, Action>;

  // All verdicts that a put may get.
  std::vector<std::uint32_t> verdicts() const;
  std::uint32_t verdict(const KeyView& key) const;
  State& state_of(const PutTotal& total, States::iterator& at);
  void count(const PutTotal& total, std::uint32_t rule, std::uint64_t puts, double when,
             double now);
  double time_of(const PutTotal& total, double now) const;
  void drop_gone();
  bool is_gone(const Series& series) const;

  std::shared_ptr<const Policy> policy_;
  States states_;
  std::map<Series, Count> series_;
  std::map<RuleName, std::uint64_t> rules_;                    // puts that they decided about
  std::map<std::string, std::uint32_t, std::less<>> servers_;  // of the last look, by their names
  bool any_gone_ = false;  // a series may have lost its IOC, total or rule
  // The time at which such a series may be old enough to leave.
  double next_drop_ = std::numeric_limits<double>::infinity();
  std::set<RuleName> in_force_;
  std::uint64_t number_ = 0;
  double last_look_ = 0;
};

}  // namespace ioc_exporter::policy
