#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/policy_command.h"
#include "app/site_config.h"
#include "base/command_line.h"
#include "base/rooted_fs.h"
#include "base/time_text.h"
#include "policy/learn.h"

namespace ioc_exporter::app {
namespace {

constexpr int kLearnFailed = 1, kUsage = 2;

bool is_url(const std::string& from) {
  return from.find("://") != std::string::npos;
}

// The URL of the metrics, where only the exporter's is given.
std::string metrics_url(std::string url) {
  const std::size_t host = url.find("://") + 3;
  while (url.size() > host && url.ends_with('/')) url.pop_back();
  return url.find('/', host) == std::string::npos ? url + "/metrics" : url;
}

Result<std::string> read_scrape(const CommandLine& line, const std::string& from) {
  if (!is_url(from)) {
    std::error_code failed;
    const auto path = std::filesystem::absolute(from, failed);
    if (failed) return Error{failed, "find file " + from};
    return RootedFs().read(path.string(), std::size_t{1} << 30);
  }
  const std::string url = metrics_url(from);
  auto fetched = fetch_as(line, url);
  if (!fetched)
    return error_in_words("ask the exporter at " + url + ": " + fetched.error().message());
  if (fetched->status != 200)
    return error_in_words("ask the exporter at " + url + ": it answers with HTTP status " +
                          std::to_string(fetched->status));
  return std::move(fetched->body);
}

// The proposal must be a policy, expect the puts from which it was made, and none that is
// forbidden.
Result<void> verify(const std::string& proposal, const std::vector<policy::SeenPut>& puts) {
  const auto read = parse_config(proposal, "the proposal");
  if (!read) return read.error();
  if (!read->policy) return error_in_words("the proposal has no policy");
  const policy::Policy policy(*read->policy);
  for (const policy::SeenPut& put : puts) {
    if (is_left_out(put)) continue;
    const bool expects =
        policy.action(policy.decide({put.pv, put.user, put.host, put.client, put.op})) ==
        policy::Action::expect;
    if (expects && !put.forbidden_by.empty())
      return error_in_words("a rule for user " + put.user +
                            " from all his hosts would expect a put to " + put.pv +
                            ", which is forbidden to one of them: try --by=client");
    if (!expects && put.forbidden_by.empty())
      return error_in_words("the proposal does not expect a put to " + put.pv);
  }
  return {};
}

}  // namespace

CommandResult policy_learn_command(int count, const char* const* arguments) {
  const std::string start = "ioc_exporter policy learn: ";
  const auto usage = [&start](const std::string& what) {
    return CommandResult{kUsage, "", start + what + " (see ioc_exporter policy --help)\n"};
  };
  const auto line = parse_command(
      with_exporter_options({{{"from", ""}, {"by", "user"}}, {"patterns"}}), count, arguments);
  if (!line) return usage(line.error().message());
  if (!line->words.empty()) return usage("unexpected argument \"" + line->words.front() + "\"");
  const std::string& by = line->values.at("by");
  if (by != "user" && by != "client")
    return usage("--by: \"" + by + "\" is neither user nor client");
  const std::string& from = line->values.at(line->given.contains("from") ? "from" : "url");

  const auto scrape = read_scrape(*line, from);
  if (!scrape) return {kLearnFailed, "", start + scrape.error().message() + "\n"};
  const auto seen = policy::read_seen_puts(*scrape);
  if (!seen) return {kLearnFailed, "", start + from + ": " + seen.error().message() + "\n"};
  const std::string proposal = policy::propose(
      *seen, by == "user" ? policy::LearnBy::user : policy::LearnBy::client,
      line->given.contains("patterns") ? policy::Widen::patterns : policy::Widen::no,
      from + ", " + local_time(now_seconds()));
  if (const auto valid = verify(proposal, seen->puts); !valid)
    return {kLearnFailed, "", start + valid.error().message() + "\n"};
  return {0, proposal, ""};
}

}  // namespace ioc_exporter::app
