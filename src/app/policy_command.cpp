#include "app/policy_command.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "app/site_config.h"
#include "base/client_network.h"
#include "base/command_line.h"
#include "base/utf8.h"
#include "base/value_text.h"

namespace ioc_exporter::app {
namespace {

constexpr const char* kPolicyHelp = R"help(NAME
  ioc_exporter policy - try out which puts the site's policy expects, or have one proposed

SYNOPSIS
  ioc_exporter policy test FILE [--pv=PV] [--user=USER] [--host=HOST] [--client=ADDRESS]
                                [--op=write|write_notify] [--inside]
  ioc_exporter policy learn [--url=URL] [--from=URL|FILE] [--by=user|client] [--patterns]

DESCRIPTION
  test   Judges a put by the policy in the configuration file FILE: says which rule decides, and why
         the rules before it do not match. A name that is not given counts as unknown. No exporter
         has to run.
           --op      the operation; default: write
           --inside  a write inside the IOC: --user is the record or the thread that writes

  learn  Prints a policy that expects all puts that an exporter has seen since its start, for a
         person to read and edit. It is a whole configuration file, and passes --config.check. Puts
         that the exporter's policy forbids are listed, and not proposed.
           --from    the URL of its metrics, or a file with one scrape of them in text format, in
                     place of --url
           --by      a rule for each user (the default), or for each user, host and address
           --patterns  one pattern for three names or more that differ only in their numbers, with
                     the records that it adds; a network for five addresses or more of a /24

  Needs no root. docs/policy.md explains the policy's keys.

OPTIONS OF learn
@exporter@

EXIT STATUS
  0 done; of test: the put is allowed or expected
  1 the file or the exporter could not be read
  2 wrong usage
  3 of test: the put is forbidden, unexpected or unjudged

EXAMPLES
  ioc_exporter policy learn > site.yml
  ioc_exporter policy test site.yml --pv=SR:B1:Current-SP --user=operator --client=10.0.0.7
  ioc_exporter policy test site.yml --pv=BL:Shutter:Open --inside --user=shutterSeq
)help";

constexpr int kTestFailed = 1, kTestUsage = 2, kNotAllowed = 3;

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

Result<PolicyQuestion> parse_test(int count, const char* const* arguments) {
  const auto line = parse_command(
      {{{"pv", ""}, {"user", ""}, {"host", ""}, {"client", ""}, {"op", "write"}}, {"inside"}},
      count, arguments);
  if (!line) return line.error();
  if (line->words.size() != 1) return error_in_words("give one configuration file");
  const auto value = [&line](const char* name) { return line->values.at(name); };
  PolicyQuestion question;
  question.file = line->words.front();
  question.pv = value("pv");
  question.user = value("user");
  question.host = value("host");
  question.client = value("client");
  question.inside = line->given.contains("inside");
  for (const char* name : {"host", "client"})
    if (question.inside && line->given.contains(name))
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
                              : ", user " + known(question.user) + ", host " +
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

// A line for each rule that was asked; the last is the one that decides.
std::string reasons(const PolicyQuestion& question, const policy::Policy& policy,
                    std::uint32_t decides) {
  std::vector<TableRow> rows = {{"LINE", "RULE", "ACTION", ""}};
  const auto& rules = policy.text().rules;
  if (decides == policy::Policy::kUnjudged) return "";
  for (std::uint32_t rule = 0; rule < rules.size(); ++rule) {
    const std::string why = policy.mismatch(rule, question.put());
    const bool perhaps = decides == (rule | policy::Policy::kPerhaps);
    rows.push_back(
        {std::to_string(rules[rule].line), clean(rules[rule].name),
         std::string(name_of(rules[rule].action)),
         why.empty() ? "decides" : std::string(perhaps ? "perhaps: " : "no: ").append(clean(why))});
    if (perhaps || decides == rule) break;
  }
  if (decides == policy::Policy::kNoRule)
    rows.push_back({"-", std::string(policy::kDefaultRule),
                    std::string(name_of(policy.text().fallback)), "decides: no rule matches"});
  if (decides == policy::Policy::kInside)
    rows.push_back({"-", "-", "expect", "decides: no rule matches this write inside the IOC"});
  return text_table(rows);
}

CommandResult policy_test(int count, const char* const* arguments) {
  const std::string start = "ioc_exporter policy test: ";
  const auto question = parse_test(count, arguments);
  if (!question)
    return {kTestUsage, "",
            start + question.error().message() + " (see ioc_exporter policy --help)\n"};
  const auto site = read_config(question->file);
  if (!site) return {kTestFailed, "", site.error().message() + "\n"};
  if (!site->policy) return {kTestFailed, "", start + question->file + " has no section policy\n"};
  const policy::Policy policy(*site->policy);
  const std::uint32_t decides = policy.decide(question->put());
  return {is_bad(policy.action(decides)) ? kNotAllowed : 0,
          asked(*question) + reasons(*question, policy, decides) + consequence(policy, decides),
          ""};
}

}  // namespace

CommandResult policy_command(int count, const char* const* arguments) {
  const std::string what = count > 0 ? arguments[0] : "";
  const auto is_help = [](std::string_view word) { return word == "--help" || word == "-h"; };
  if (std::any_of(arguments, arguments + count, is_help))
    return {0, with_exporter_help(kPolicyHelp), ""};
  if (what == "test") return policy_test(count - 1, arguments + 1);
  if (what == "learn") return policy_learn_command(count - 1, arguments + 1);
  const std::string problem =
      what.empty() ? "what? test or learn" : "\"" + what + "\" is neither test nor learn";
  return {2, "", "ioc_exporter policy: " + problem + " (see ioc_exporter policy --help)\n"};
}

}  // namespace ioc_exporter::app
