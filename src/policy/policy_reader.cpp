#include "policy/policy_reader.h"

#include <set>
#include <utility>

#include "base/yaml_reader.h"

namespace ioc_exporter::policy {
namespace {

constexpr std::size_t kMostRules = 10'000;
constexpr std::size_t kLongestName = 100;

// The texts of a list that, when it is there, must not be empty: a rule that matches nothing is a
// slip.
std::vector<std::string> read_texts(Reader& rule, const std::string& key) {
  auto texts = rule.texts(key);
  if (texts.empty() && rule.has(key))
    rule.complain(key, "is empty, so that the rule would match nothing (leave it out for all)");
  return texts;
}

std::vector<std::string> read_patterns(Reader& rule, const std::string& key) {
  auto patterns = read_texts(rule, key);
  for (std::size_t i = 0; i < patterns.size(); ++i)
    if (const auto valid = Patterns::check(patterns[i]); !valid)
      rule.complain(key, i, "no regular expression: " + valid.error().message());
  return patterns;
}

std::vector<ClientNetwork> read_clients(Reader& rule) {
  std::vector<ClientNetwork> networks;
  const auto texts = read_texts(rule, "clients");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto network = ClientNetwork::parse(texts[i]);
    if (network)
      networks.push_back(std::move(*network));
    else
      rule.complain("clients", i, network.error().message());
  }
  return networks;
}

void read_operations(Reader& rule, RuleText& text) {
  if (!rule.has("operations")) return;
  text.write = text.write_notify = false;
  const auto operations = read_texts(rule, "operations");
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i] == "write")
      text.write = true;
    else if (operations[i] == "write_notify")
      text.write_notify = true;
    else
      rule.complain("operations", i, "\"" + operations[i] + "\" is neither write nor write_notify");
  }
}

void read_name(Reader& rule, RuleText& text, std::set<std::string>& names) {
  if (!rule.require("name")) return;
  text.name = rule.text("name").value_or("");
  if (text.name.empty() || text.name.size() > kLongestName)
    rule.complain("name", "must have 1 to " + std::to_string(kLongestName) + " characters");
  else if (text.name == kDefaultRule)
    rule.complain("name", "\"default\" stands for what no rule matches");
  else if (!names.insert(text.name).second)
    rule.complain("name", "another rule is called \"" + text.name + "\", too");
}

RuleText read_rule(Reader& rule, std::set<std::string>& names) {
  RuleText text;
  text.line = rule.place().line;
  read_name(rule, text, names);
  if (rule.require("action"))
    rule.set("action", one_of<Action>(text.action, {{"allow", Action::allow},
                                                    {"expect", Action::expect},
                                                    {"forbid", Action::forbid}}));
  text.pvs = read_patterns(rule, "pvs");
  text.users = read_patterns(rule, "users");
  text.hosts = read_patterns(rule, "hosts");
  text.clients = read_clients(rule);
  read_operations(rule, text);
  rule.set("inside", on_off(text.inside));
  for (const char* const key : {"hosts", "clients"})
    if (text.inside && rule.has(key))
      rule.complain(key, "a write inside the IOC has none: the rule would match nothing");
  text.had_times = rule.has("times");
  return text;
}

}  // namespace

PolicyText read_policy(Reader& section) {
  PolicyText policy;
  section.set("default", one_of<Action>(policy.fallback, {{"unexpected", Action::unexpected},
                                                          {"forbid", Action::forbid},
                                                          {"allow", Action::allow},
                                                          {"expect", Action::expect}}));
  section.has("longest_scrape_interval");  // of version 0.1.0, without effect since
  std::set<std::string> names;
  section.list("rules", [&](Reader& rule) { policy.rules.push_back(read_rule(rule, names)); });
  if (policy.rules.size() > kMostRules)
    section.complain("rules", "must be at most " + std::to_string(kMostRules));
  return policy;
}

}  // namespace ioc_exporter::policy
