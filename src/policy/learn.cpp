#include "policy/learn.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/client_network.h"
#include "base/metric_lines.h"
#include "policy/patterns.h"
#include "policy/policy.h"

namespace ioc_exporter::policy {
namespace {

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

// From a label's value to the name: see label_text.h.
std::string bytes_of(const std::string& value) {
  std::string bytes;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '\\' && i + 3 < value.size() && value[i + 1] == 'x') {
      const auto high = hex_digit(value[i + 2]), low = hex_digit(value[i + 3]);
      if (high && low) {
        bytes += static_cast<char>(*high << 4 | *low);
        i += 3;
        continue;
      }
    }
    bytes += value[i];
  }
  return bytes;
}

constexpr std::size_t kNamesAlike = 3;
constexpr std::size_t kAddressesOfNetwork = 5;
constexpr std::size_t kAddedShown = 20;
constexpr std::string_view kOther = "(other)";  // sum over series beyond a limit

// Puts that become one rule.
struct Group {
  std::uint64_t puts = 0;
  std::set<std::string> users, hosts, clients, forbidden;  // the latter: plain names
  std::map<std::string, std::uint64_t> pvs;                // plain name -> puts
};

struct PvPattern {
  std::set<std::string> names;
  std::uint64_t puts = 0;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The name's parts in turn: no digits, digits, no digits, ...
std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    if (is_digit(c) != (parts.size() % 2 == 0)) parts.emplace_back();
    parts.back() += c;
  }
  return parts;
}

// Common part of names that differ in numbers.
std::string skeleton(const std::string& name) {
  std::string text;
  const auto parts = parts_of(name);
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += i % 2 == 0 ? parts[i] : std::string(1, '\0');
  return text;
}

// One pattern for names of one skeleton: [0-9]+ where their numbers differ.
std::string common_pattern(const std::vector<std::string>& names) {
  auto parts = parts_of(names.front());
  std::vector<bool> differ(parts.size());
  for (const std::string& name : names) {
    const auto others = parts_of(name);
    for (std::size_t i = 0; i < parts.size(); ++i) differ[i] = differ[i] || parts[i] != others[i];
  }
  std::string pattern;
  for (std::size_t i = 0; i < parts.size(); ++i)
    pattern += differ[i] ? "[0-9]+" : literal_pattern(parts[i]);
  return pattern;
}

// A pattern for the names, unless it would match what is forbidden.
std::optional<std::string> pattern_for(const std::vector<std::string>& names, const Group& group) {
  if (names.size() < kNamesAlike) return std::nullopt;
  std::string pattern = common_pattern(names);
  const Patterns matcher({pattern});
  const auto matches = [&matcher](const std::string& name) { return matcher.match(name); };
  if (std::ranges::any_of(group.forbidden, matches)) return std::nullopt;
  return pattern;
}

std::map<std::string, PvPattern> patterns_of(const Group& group, Widen widen) {
  std::map<std::string, std::vector<std::string>> alike;
  for (const auto& [name, puts] : group.pvs)
    alike[widen == Widen::patterns ? skeleton(name) : name].push_back(name);
  std::map<std::string, PvPattern> patterns;
  for (const auto& [common, names] : alike) {
    const auto together = pattern_for(names, group);
    for (const std::string& name : names) {
      PvPattern& pattern = patterns[together ? *together : literal_pattern(name)];
      pattern.names.insert(name);
      pattern.puts += group.pvs.at(name);
    }
  }
  return patterns;
}

std::string comment_text(const std::string& text) {
  std::string clean = text;
  for (char& c : clean)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return clean;
}

// The PVs that the pattern allows and nobody wrote to, as far as their records are known.
std::string added_by(const std::string& pattern, const PvPattern& seen,
                     const std::set<std::string>& records) {
  if (records.empty()) return "; which others it adds is not known: no records are on that page";
  const Patterns matcher({pattern});
  const std::string& first = *seen.names.begin();
  const std::string field = first.substr(std::min(first.find('.'), first.size()));
  std::string text;
  std::size_t added = 0;
  for (const std::string& record : records)
    if (const std::string name = record + field;
        matcher.match(name) && !seen.names.contains(name) && ++added <= kAddedShown)
      text += (text.empty() ? "; adds " : ", ") + comment_text(name);
  if (added > kAddedShown) text += " and " + std::to_string(added - kAddedShown) + " more";
  return added == 0 ? "; adds none of the records on that page" : text;
}

std::string network_of(const std::string& address) {
  return address.substr(0, address.rfind('.') + 1) + "0/24";
}

std::set<std::string> networks_of(const std::set<std::string>& addresses, Widen widen) {
  if (widen == Widen::no) return addresses;
  std::map<std::string, std::size_t> sizes;
  const auto is_ipv4 = [](const std::string& address) {
    return address.find(':') == std::string::npos;
  };
  for (const std::string& address : addresses)
    if (is_ipv4(address)) ++sizes[network_of(address)];
  std::set<std::string> networks;
  for (const std::string& address : addresses) {
    const bool together = is_ipv4(address) && sizes[network_of(address)] >= kAddressesOfNetwork;
    networks.insert(together ? network_of(address) : address);
  }
  return networks;
}

// Printable ASCII in, a YAML scalar out.
std::string yaml(const std::string& text) {
  std::string scalar = "'";
  for (const char c : text) scalar += c == '\'' ? std::string("''") : std::string(1, c);
  return scalar + "'";
}

std::string yaml_list(const std::set<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "[" : ", ") + yaml(text);
  return list + "]";
}

std::set<std::string> all_literal(const std::set<std::string>& names) {
  std::set<std::string> patterns;
  for (const std::string& name : names) patterns.insert(literal_pattern(name));
  return patterns;
}

std::string counted(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// Each once: "user-operator", "user-operator.2".
std::string rule_name(const std::set<std::string>& users, std::map<std::string, unsigned>& used) {
  std::string name = *users.begin();
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-') c = '_';
  name = name.empty() ? "unknown-user" : "user-" + name.substr(0, 60);
  const unsigned count = ++used[name];
  return count == 1 ? name : name + "." + std::to_string(count);
}

std::string rule_text(const Group& group, Widen widen, const std::set<std::string>& records,
                      std::map<std::string, unsigned>& used) {
  std::string text = "    # " + counted(group.puts, "put") + " to " +
                     counted(group.pvs.size(), "PV") +
                     "\n    - name: " + yaml(rule_name(group.users, used)) +
                     "\n      action: expect\n      users: " + yaml_list(all_literal(group.users)) +
                     "\n      hosts: " + yaml_list(all_literal(group.hosts)) + "\n";
  const bool all_known = std::ranges::all_of(group.clients, [](const std::string& client) {
    return parse_client_address(client).has_value();
  });
  if (all_known)
    text += "      clients: " + yaml_list(networks_of(group.clients, widen)) + "\n";
  else
    text += "      # The address of one client was not known: a put from any matches.\n";
  text += "      pvs:\n";
  for (const auto& [pattern, seen] : patterns_of(group, widen)) {
    text += "        - " + yaml(pattern) + "  # " + counted(seen.puts, "put");
    if (seen.names.size() > 1)
      text += " to " + counted(seen.names.size(), "PV") + added_by(pattern, seen, records);
    text += "\n";
  }
  return text;
}

std::string forbidden_text(const std::vector<SeenPut>& puts) {
  std::string text;
  for (const SeenPut& put : puts)
    if (!put.forbidden_by.empty() && !is_left_out(put))
      text += "#   " + counted(put.count, "put") + " of " + literal_pattern(put.user) + "@" +
              literal_pattern(put.host) + " (" + literal_pattern(put.client) + ") to " +
              literal_pattern(put.pv) + ", by rule " + comment_text(put.forbidden_by) + "\n";
  return text.empty() ? text : "# Forbidden by the policy in force, so not proposed:\n" + text;
}

}  // namespace

bool is_left_out(const SeenPut& put) {
  return put.pv.empty() || put.pv == kOther || put.client == kOther;
}

std::string propose(const SeenPuts& seen, LearnBy by, Widen widen, const std::string& source) {
  std::map<std::tuple<std::string, std::string, std::string>, Group> groups;
  std::uint64_t left_out = 0;
  for (const SeenPut& put : seen.puts) {
    if (is_left_out(put)) {
      left_out += put.count;
      continue;
    }
    const bool apart = by == LearnBy::client;
    Group& group = groups[{put.user, apart ? put.host : "", apart ? put.client : ""}];
    if (!put.forbidden_by.empty()) {
      group.forbidden.insert(plain_name(put.pv));
      continue;
    }
    group.puts += put.count;
    group.users.insert(put.user);
    group.hosts.insert(put.host);
    group.clients.insert(put.client);
    group.pvs[plain_name(put.pv)] += put.count;
  }
  std::string text =
      "# Proposed by ioc_exporter policy learn, from " + comment_text(source) +
      ".\n# It expects all that was seen there, the bad with the good: read each rule, take out "
      "what"
      "\n# should not be, and widen what is too narrow. ioc_exporter policy test tries it out.\n";
  if (left_out > 0)
    text += "# Left out: " + counted(left_out, "put") + " whose PV or client is not known.\n";
  text += forbidden_text(seen.puts);
  std::erase_if(groups, [](const auto& entry) { return entry.second.pvs.empty(); });
  text += "policy:\n  default: unexpected\n  rules:";
  text += groups.empty() ? " []\n" : "\n";
  std::map<std::string, unsigned> used;
  for (const auto& [key, group] : groups) text += rule_text(group, widen, seen.records, used);
  return text;
}

Result<SeenPuts> read_seen_puts(std::string_view scrape) {
  SeenPuts seen;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::string> forbidden;
  bool all_counts = true;
  const auto who = [](const SeenPut& put) {
    return std::tuple(plain_name(put.pv), put.client, put.user, put.host);
  };
  MetricLines lines(
      {"epics_puts_total", "epics_unexpected_puts_total", "epics_record_process_total"},
      [&](const MetricLine& line) {
        const auto label = [&line](const char* name) { return bytes_of(line.label(name)); };
        if (line.name == "epics_record_process_total") {
          seen.records.insert(label("record"));
          return;
        }
        SeenPut put{label("pv"), label("client"), label("user"), label("client_host")};
        if (line.name == "epics_unexpected_puts_total") {
          if (label("action") == verdict_of(Action::forbid)) forbidden[who(put)] = label("rule");
          return;
        }
        if (label("op") == "write_notify") put.op = PutOp::write_notify;
        all_counts = all_counts && line.value >= 0 && line.value < 1.8e19;
        if (all_counts) put.count = static_cast<std::uint64_t>(std::llround(line.value));
        seen.puts.push_back(std::move(put));
      });
  if (lines.read(scrape) && !scrape.ends_with('\n')) lines.read("\n");
  if (const std::string problem = lines.problem(); !problem.empty()) return error_in_words(problem);
  if (!all_counts) return error_in_words("a value of epics_puts_total is no count");
  if (seen.puts.empty())
    return error_in_words("there is no series of epics_puts_total: no put was seen");
  for (SeenPut& put : seen.puts)
    if (const auto rule = forbidden.find(who(put)); rule != forbidden.end())
      put.forbidden_by = rule->second;
  return seen;
}

}  // namespace ioc_exporter::policy
