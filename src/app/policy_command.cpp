#include "app/policy_command.h"

#include <string>
#include <string_view>
#include <vector>

#include "app/site_config.h"
#include "base/client_network.h"
#include "base/utf8.h"
#include "base/value_text.h"
#include "exposition/json_text.h"

namespace ioc_exporter::app {
namespace {

constexpr const char* kHelp =
    R"help(  Judges a put by the policy in the configuration file FILE: says which rule decides, and why the
  rules before it do not match. A name that is not given counts as unknown. No exporter has to run,
  and no root. docs/policy.md explains the policy's keys.

OPTIONS
  --pv=PV, --user=USER, --client-host=HOST, --client=ADDRESS
              the PV, and who puts
  --op=OP     write (the default) or write_notify, a put with callback
  --inside    a write inside the IOC: --user is the record or the thread that writes
  --json      the same as JSON

EXIT STATUS
  0 the put is allowed or expected, 1 the file could not be read, 2 wrong usage, 4 the put is
  forbidden, unexpected or unjudged

EXAMPLES
  ioc_exporter policy test --pv=SR:B1:Current-SP --user=operator --client=10.0.0.7 site.yml
  ioc_exporter policy test --pv=BL:Shutter:Open --inside --user=shutterSeq site.yml
)help";

constexpr int kNotAllowed = 4;

struct PolicyQuestion {
  std::string file;
  std::string pv, user, host, client;
  PutOp op = PutOp::write;
  bool inside = false;  // by `user`

  policy::Put put() const {
    if (inside) return {pv, "", "", user, op, true};
    return {pv, user, host, client, op};
  }
};

Result<PolicyQuestion> question_of(const CommandLine& line) {
  const auto value = [&line](const char* name) { return line.values.at(name); };
  PolicyQuestion question;
  question.file = line.word;
  question.pv = value("pv");
  question.user = value("user");
  question.host = value("client-host");
  question.client = value("client");
  question.inside = line.given.contains("inside");
  for (const char* name : {"client-host", "client"})
    if (question.inside && line.given.contains(name))
      return error_in_words("--inside and --" + std::string(name) +
                            ": a write inside the IOC has none");
  if (!question.client.empty() && !parse_client_address(question.client))
    return error_in_words("--client: \"" + question.client + "\" is no address");
  const std::string op = value("op");
  if (op != "write" && op != "write_notify")
    return error_in_words("--op: \"" + op + "\" is neither write nor write_notify");
  if (op == "write_notify") question.op = PutOp::write_notify;
  return question;
}

std::string clean(const std::string& text) {
  return printable_utf8(text, text.size());
}

std::string known(const std::string& text) {
  return text.empty() ? "(not known)" : clean(text);
}

std::string asked(const PolicyQuestion& question) {
  const std::string who = question.inside
                              ? ", inside the IOC by " + known(question.user)
                              : ", user " + known(question.user) + ", client_host " +
                                    known(question.host) + ", client " + known(question.client);
  return "pv " + known(question.pv) + who + ", " +
         (question.op == PutOp::write ? "write" : "write_notify") + "\n";
}

std::string consequence(const policy::Policy& policy, std::uint32_t decides) {
  const policy::Action action = policy.action(decides);
  const std::string verdict(verdict_of(action));
  const std::string rule = clean(std::string(policy.name(decides)));
  if (decides == policy::Policy::kInside) return verdict + ", by no rule: it has no series\n";
  if (decides == policy::Policy::kUnjudged)
    return verdict + ", since the PV is not known: counts in epics_unexpected_puts_total{rule=\"" +
           rule + "\",action=\"" + verdict + "\"}\n";
  if (!is_bad(action)) return verdict + ", by rule " + rule + ": it has no series\n";
  return verdict + ", by rule " + rule + ": counts in epics_unexpected_puts_total{rule=\"" + rule +
         "\",action=\"" + verdict + "\"}\n";
}

struct Reason {
  std::string line, rule, action, why;
};

// Of each rule that was asked; the last is the one that decides.
std::vector<Reason> reasons(const PolicyQuestion& question, const policy::Policy& policy,
                            std::uint32_t decides) {
  std::vector<Reason> all;
  const auto& rules = policy.text().rules;
  if (decides == policy::Policy::kUnjudged) return all;
  for (std::uint32_t rule = 0; rule < rules.size(); ++rule) {
    const std::string why = policy.mismatch(rule, question.put());
    const bool perhaps = decides == (rule | policy::Policy::kPerhaps);
    all.push_back(
        {std::to_string(rules[rule].line), clean(rules[rule].name),
         std::string(name_of(rules[rule].action)),
         why.empty() ? "decides" : std::string(perhaps ? "perhaps: " : "no: ").append(clean(why))});
    if (perhaps || decides == rule) break;
  }
  if (decides == policy::Policy::kNoRule)
    all.push_back({"-", std::string(policy::kDefaultRule),
                   std::string(name_of(policy.text().fallback)), "decides: no rule matches"});
  if (decides == policy::Policy::kInside)
    all.push_back({"-", "-", "expect", "decides: no rule matches this write inside the IOC"});
  return all;
}

std::string text_of(const PolicyQuestion& question, const policy::Policy& policy,
                    std::uint32_t decides) {
  std::vector<TableRow> rows = {{"LINE", "RULE", "ACTION", ""}};
  for (const auto& [line, rule, action, why] : reasons(question, policy, decides))
    rows.push_back({line, rule, action, why});
  return asked(question) + (rows.size() > 1 ? text_table(rows) : "") + consequence(policy, decides);
}

std::string json_of(const PolicyQuestion& question, const policy::Policy& policy,
                    std::uint32_t decides) {
  std::string out;
  {
    exposition::JsonObject object(out);
    object.text("pv", question.pv);
    object.text("client", question.client);
    object.text("user", question.user);
    object.text("client_host", question.host);
    object.any_text("op", question.op == PutOp::write ? "write" : "write_notify");
    object.flag("inside", question.inside);
    object.any_text("rule", policy.name(decides));
    object.any_text("action", verdict_of(policy.action(decides)));
    exposition::append_json_list(object.key("rules"), reasons(question, policy, decides),
                                 [&out](const Reason& reason) {
                                   exposition::JsonObject one(out);
                                   one.any_text("line", reason.line);
                                   one.any_text("rule", reason.rule);
                                   one.any_text("action", reason.action);
                                   one.any_text("why", reason.why);
                                 });
  }
  return out + "\n";
}

CommandResult test_policy(const CommandLine& line, std::FILE*) {
  const auto question = question_of(line);
  if (!question) return wrong_usage(question.error().message());
  const auto site = read_config(question->file);
  if (!site) return failed(site.error());
  if (!site->policy) return {kFailed, "", question->file + " has no section policy"};
  const policy::Policy policy(*site->policy);
  const std::uint32_t decides = policy.decide(question->put());
  return {is_bad(policy.action(decides)) ? kNotAllowed : kDone,
          (line.given.contains("json") ? json_of : text_of)(*question, policy, decides)};
}

}  // namespace

Command policy_test_command() {
  return {
      "policy test",
      "FILE",
      "tries out which puts the site's policy expects",
      kHelp,
      {.values = {{"pv", ""}, {"user", ""}, {"client-host", ""}, {"client", ""}, {"op", "write"}},
       .flags = {"inside", "json"},
       .old = {{"host", "client-host"}}},
      test_policy};
}

}  // namespace ioc_exporter::app
