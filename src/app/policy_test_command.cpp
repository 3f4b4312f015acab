#include <utility>

#include "app/policy_command.h"
#include "app/policy_file.h"
#include "base/command_line.h"
#include "base/text_table.h"
#include "base/time_text.h"
#include "base/utf8.h"
#include "policy/time_window.h"

namespace ioc_exporter::app {
namespace {

constexpr int kTestFailed = 1, kTestUsage = 2, kNotAllowed = 3;

struct PolicyQuestion {
  std::string file;
  std::string pv, user, host, client;
  PutOp op = PutOp::write;
  std::int64_t when = 0;

  policy::Put put() const { return {pv, user, host, client, op}; }
};

Result<PolicyQuestion> parse_test(int count, const char* const* arguments) {
  const auto line = parse_command(
      {{{"pv", ""}, {"user", ""}, {"host", ""}, {"client", ""}, {"op", "write"}, {"time", ""}}, {}},
      count, arguments);
  if (!line) return line.error();
  if (line->words.size() != 1) return error_in_words("one configuration file is wanted");
  const auto value = [&line](const char* name) { return line->values.at(name); };
  PolicyQuestion question;
  question.file = line->words.front();
  question.pv = value("pv");
  question.user = value("user");
  question.host = value("host");
  question.client = value("client");
  if (!question.client.empty() && !policy::parse_client_address(question.client))
    return error_in_words("--client: \"" + question.client + "\" is no address");
  const std::string op = value("op");
  if (op != "write" && op != "write_notify")
    return error_in_words("--op: \"" + op + "\" is neither write nor write_notify");
  if (op == "write_notify") question.op = PutOp::write_notify;
  question.when = static_cast<std::int64_t>(now_seconds());
  if (!line->given.contains("time")) return question;
  const auto when = policy::parse_moment(value("time"));
  if (!when) return error_in_words("--time: " + when.error().message());
  question.when = *when;
  return question;
}

std::string clean(const std::string& text) {
  return printable_utf8(text, text.size());
}

std::string known(const std::string& text) {
  return text.empty() ? "(not known)" : clean(text);
}

std::string asked(const PolicyQuestion& question) {
  return std::string("pv ") + known(question.pv) + ", user " + known(question.user) + ", host " +
         known(question.host) + ", client " + known(question.client) + ", " +
         (question.op == PutOp::write ? "write" : "write_notify") + ", at " +
         local_time(static_cast<double>(question.when)) + "\n";
}

std::string consequence(const policy::Policy& policy, std::uint32_t decides) {
  const policy::Action action = policy.action(decides);
  const std::string verdict(verdict_of(action));
  const std::string rule = clean(std::string(policy.name(decides)));
  if (!is_bad(action)) return verdict + ", by rule " + rule + ": it has no series\n";
  return verdict + ", by rule " + rule + ": counts in epics_unexpected_puts_total{rule=\"" + rule +
         "\",action=\"" + verdict + "\"}\n";
}

// A line for each rule that was asked; the last is the one that decides.
std::string reasons(const PolicyQuestion& question, const policy::Policy& policy,
                    std::uint32_t decides) {
  std::vector<TableRow> rows = {{"LINE", "RULE", "ACTION", ""}};
  const auto& rules = policy.text().rules;
  for (std::uint32_t rule = 0; rule < rules.size() && rule <= decides; ++rule) {
    const std::string why = policy.mismatch(rule, question.put(), question.when);
    rows.push_back({std::to_string(rules[rule].line), clean(rules[rule].name),
                    std::string(name_of(rules[rule].action)),
                    why.empty() ? "decides" : std::string("no: ").append(clean(why))});
  }
  if (decides == policy::Policy::kNoRule)
    rows.push_back({"-", std::string(policy::kDefaultRule),
                    std::string(name_of(policy.text().fallback)), "decides: no rule matches"});
  return text_table(rows);
}

}  // namespace

CommandResult policy_test_command(int count, const char* const* arguments) {
  const std::string start = "ioc_exporter policy test: ";
  const auto question = parse_test(count, arguments);
  if (!question)
    return {kTestUsage, "",
            start + question.error().message() + " (see ioc_exporter policy --help)\n"};
  auto text = read_policy_file(question->file);
  if (!text) return {kTestFailed, "", text.error().message() + "\n"};
  if (!*text) return {kTestFailed, "", start + question->file + " has no section policy\n"};
  const policy::Policy policy(std::move(**text));
  const std::uint32_t decides = policy.decide(question->put(), question->when);
  return {is_bad(policy.action(decides)) ? kNotAllowed : 0,
          asked(*question) + reasons(*question, policy, decides) + consequence(policy, decides),
          ""};
}

}  // namespace ioc_exporter::app
