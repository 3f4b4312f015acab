#include "policy/policy.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "iocs/memory/record_names.h"

namespace ioc_exporter::policy {
namespace {

std::string listed(const std::vector<std::string>& texts) {
  constexpr std::size_t kShown = 5;
  std::string all;
  for (std::size_t i = 0; i < std::min(texts.size(), kShown); ++i)
    all.append(i == 0 ? "" : ", ").append(texts[i]);
  if (texts.size() > kShown) all += " and " + std::to_string(texts.size() - kShown) + " more";
  return all;
}

template <class Item>
std::string texts_of(const std::vector<Item>& items) {
  std::vector<std::string> texts;
  for (const Item& item : items) texts.push_back(item.text());
  return listed(texts);
}

std::string shown(std::string_view value) {
  return value.empty() ? "not known" : std::string("\"").append(value).append("\"");
}

std::string not_matched(const char* what, std::string_view value,
                        const std::vector<std::string>& patterns) {
  return std::string("the ") + what + " is " + shown(value) + ", it wants " + listed(patterns);
}

}  // namespace

std::string_view name_of(Action action) {
  switch (action) {
    case Action::allow:
      return "allow";
    case Action::expect:
      return "expect";
    case Action::forbid:
      return "forbid";
    case Action::unjudged:
      return "unjudged";
    case Action::unexpected:
      break;
  }
  return "unexpected";
}

std::string_view verdict_of(Action action) {
  switch (action) {
    case Action::allow:
      return "allowed";
    case Action::expect:
      return "expected";
    case Action::forbid:
      return "forbidden";
    case Action::unjudged:
      return "unjudged";
    case Action::unexpected:
      break;
  }
  return "unexpected";
}

std::string plain_name(std::string_view pv) {
  const iocs::PvName name = iocs::parse_pv_name(pv);
  if (!name.is_valid()) return std::string(pv);
  std::string plain(name.record);
  if (name.field != "VAL") plain.append(".").append(name.field);
  return plain;
}

Policy::Policy(PolicyText text) : text_(std::move(text)) {
  for (const RuleText& rule : text_.rules)
    compiled_.push_back({Patterns(rule.pvs), Patterns(rule.users), Patterns(rule.hosts)});
}

std::string_view Policy::name(std::uint32_t rule) const {
  if (rule == kUnjudged) return kNoName;
  return rule >= kInside ? kDefaultRule : text_.rules[rule & ~kPerhaps].name;
}

Action Policy::action(std::uint32_t rule) const {
  if (rule == kNoRule) return text_.fallback;
  if (rule == kInside) return Action::expect;
  if (rule == kUnjudged) return Action::unjudged;
  return (rule & kPerhaps) != 0 ? Action::unexpected : text_.rules[rule].action;
}

bool Policy::matches_pv(std::uint32_t rule, const std::string& plain) const {
  if (text_.rules[rule].pvs.empty()) return true;
  return matches_plain(plain, [&patterns = compiled_[rule].pvs](const std::string& name) {
    return patterns.match(name);
  });
}

bool Policy::matches_user(std::uint32_t rule, const Put& put) const {
  return text_.rules[rule].users.empty() ||
         compiled_[rule].users.match(put.inside ? put.client : put.user);
}

bool Policy::matches_host(std::uint32_t rule, const Put& put) const {
  return text_.rules[rule].hosts.empty() || compiled_[rule].hosts.match(put.host);
}

bool Policy::matches_client(std::uint32_t rule, const std::optional<ClientAddress>& address) const {
  const auto& networks = text_.rules[rule].clients;
  if (networks.empty()) return true;
  return address && std::ranges::any_of(networks, [&address](const ClientNetwork& network) {
           return network.contains(*address);
         });
}

bool Policy::matches_op(std::uint32_t rule, const Put& put) const {
  return put.op == PutOp::write ? text_.rules[rule].write : text_.rules[rule].write_notify;
}

std::uint32_t Policy::decide(const Put& put) const {
  if (put.pv.empty()) return kUnjudged;
  const auto address = parse_client_address(std::string(put.client));
  const std::string plain = plain_name(put.pv);
  std::uint32_t first_perhaps = kNoRule, decides = put.inside ? kInside : kNoRule;
  for (std::uint32_t rule = 0; rule < compiled_.size(); ++rule) {
    if (text_.rules[rule].inside != put.inside) continue;
    bool known = true;
    const auto may = [&](bool matches, std::string_view fact) {
      known = known && matches;
      return matches || perhaps(rule, fact);
    };
    if (!matches_op(rule, put) || !may(matches_client(rule, address), put.client) ||
        !may(matches_user(rule, put), put.inside ? put.client : put.user) ||
        !may(matches_host(rule, put), put.host) || !matches_pv(rule, plain))
      continue;
    if (known) {
      decides = rule;
      break;
    }
    if (first_perhaps == kNoRule) first_perhaps = rule | kPerhaps;
  }
  return first_perhaps != kNoRule && !is_bad(action(decides)) ? first_perhaps : decides;
}

std::string Policy::mismatch(std::uint32_t rule, const Put& put) const {
  const RuleText& text = text_.rules[rule];
  if (text.inside != put.inside)
    return text.inside ? "it is only for writes inside the IOC"
                       : "it is not for those inside the IOC";
  if (!matches_pv(rule, plain_name(put.pv))) return not_matched("PV", put.pv, text.pvs);
  if (!matches_user(rule, put))
    return put.inside ? not_matched("writer", put.client, text.users)
                      : not_matched("user", put.user, text.users);
  if (!matches_host(rule, put)) return not_matched("host", put.host, text.hosts);
  if (!matches_client(rule, parse_client_address(std::string(put.client))))
    return "the client's address is " + shown(put.client) + ", it wants " + texts_of(text.clients);
  if (!matches_op(rule, put))
    return std::string("it is only for ") + (text.write ? "write" : "write_notify");
  return "";
}

}  // namespace ioc_exporter::policy
