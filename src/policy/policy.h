// Policy: which puts a site expects, allows and forbids. Pure; docs/policy.md explains it.
//
// Rules are asked in their order, and the first that matches a put decides. All that a rule names
// must match: a PV pattern, a user, a host, a client network, the operation; what it does not name
// matches everything.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/client_network.h"
#include "base/result.h"
#include "policy/patterns.h"
#include "puts/totals/samples.h"

namespace ioc_exporter::policy {

// `unexpected` is for the default only; `unjudged` is for puts whose PV's name is not known.
enum class Action : std::uint8_t { allow, expect, forbid, unexpected, unjudged };

// As it stands in the file: "allow", ...
std::string_view name_of(Action action);
// Verdict of that action, the label `action`: "allowed", "expected", "forbidden", "unexpected",
// "unjudged".
std::string_view verdict_of(Action action);
// Puts that have a series of their own.
constexpr bool is_bad(Action action) {
  return action != Action::allow && action != Action::expect;
}

inline constexpr std::string_view kDefaultRule = "default";  // no rule may be called so
inline constexpr std::string_view kNoName = "(no name)";     // the label `rule` of unjudged puts

struct RuleText {
  std::string name;
  Action action = Action::allow;
  int line = 0;                                // of the file, from 1; 0: not from a file
  std::vector<std::string> pvs, users, hosts;  // patterns, checked; empty: all
  std::vector<ClientNetwork> clients;          // empty: all
  bool write = true, write_notify = true;
  bool inside = false;     // for writes of clients in the IOC itself, and no others
  bool had_times = false;  // the file restricts it to windows of time, which has no effect any more
};

struct PolicyText {
  std::vector<RuleText> rules;
  Action fallback = Action::unexpected;
};

// Facts of a put; "" = not known.
struct Put {
  std::string_view pv, user, host, client;
  PutOp op = PutOp::write;
  bool inside = false;  // of the IOC itself: `client` is a record or a thread, there is no user
};

class Policy {
 public:
  static constexpr std::uint32_t kNoRule = UINT32_MAX;  // the default decides
  // No rule names this write inside the IOC: it is expected, whatever the default is.
  static constexpr std::uint32_t kInside = UINT32_MAX - 1;
  // No rule is asked: the PV's name is not known.
  static constexpr std::uint32_t kUnjudged = UINT32_MAX - 2;
  // With the index of a rule that forbids: it may match, by a fact of the put that is not known.
  static constexpr std::uint32_t kPerhaps = 1u << 31;

  // At most kPerhaps - 1 rules.
  explicit Policy(PolicyText text);

  const PolicyText& text() const { return text_; }
  // `rule`: as decide() has it.
  std::string_view name(std::uint32_t rule) const;
  Action action(std::uint32_t rule) const;

  // The first rule that matches, by its index, or one of the above. Where that allows the put, one
  // before it that may match, with kPerhaps.
  std::uint32_t decide(const Put& put) const;
  // Why the rule does not match, in words; "" when it does.
  std::string mismatch(std::uint32_t rule, const Put& put) const;

 private:
  struct Compiled {
    Patterns pvs, users, hosts;
  };

  // Whether the fact is not known, and the rule forbids: it may match then.
  bool perhaps(std::uint32_t rule, std::string_view fact) const {
    return fact.empty() && text_.rules[rule].action == Action::forbid;
  }
  bool matches_pv(std::uint32_t rule, const std::string& plain) const;
  bool matches_user(std::uint32_t rule, const Put& put) const;
  bool matches_host(std::uint32_t rule, const Put& put) const;
  bool matches_client(std::uint32_t rule, const std::optional<ClientAddress>& address) const;
  bool matches_op(std::uint32_t rule, const Put& put) const;

  PolicyText text_;
  std::vector<Compiled> compiled_;
};

// The name without modifiers, and without the field where it is VAL: "SR:Q1", "SR:Q1.DESC".
// Patterns are tried on it, and on "SR:Q1.VAL", never on the name as it was sent: a modifier may
// hold any text, such as a comment in a channel filter (Base 7).
std::string plain_name(std::string_view pv);

// Whether `matches` is true of the plain name, with or without VAL.
template <class Matches>
bool matches_plain(const std::string& plain, Matches matches) {
  return matches(plain) || (plain.find('.') == std::string::npos && matches(plain + ".VAL"));
}

}  // namespace ioc_exporter::policy
