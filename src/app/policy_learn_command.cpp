#include <algorithm>
#include <filesystem>
#include <utility>

#include "app/policy_command.h"
#include "app/site_config.h"
#include "base/rooted_fs.h"
#include "base/time_text.h"
#include "policy/learn.h"

namespace ioc_exporter::app {
namespace {

constexpr const char* kHelp =
    R"help(  Prints a policy that expects all puts that an exporter has seen since its start, for a person to
  read and edit. It is a whole configuration file, and passes --config.check. Puts that the
  exporter's policy forbids are listed, and not proposed. docs/policy.md explains the keys.

OPTIONS
  --from=URL|FILE
              the URL of the exporter's metrics, or a file with one scrape of them in text format,
              in place of --url
  --by=user|client
              a rule for each user (the default), or for each user, host and address
  --patterns  one pattern for three names or more that differ only in their numbers, with the
              records that it adds; a network for five addresses or more of a /24
@exporter@

EXIT STATUS
  0 done, 1 the file or the exporter could not be read, 2 wrong usage

EXAMPLE
  ioc_exporter policy learn > site.yml
)help";

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

CommandResult learn(const CommandLine& line, std::FILE*) {
  const std::string& by = line.values.at("by");
  if (by != "user" && by != "client")
    return wrong_usage("--by: \"" + by + "\" is neither user nor client");
  const std::string& from = line.values.at(line.given.contains("from") ? "from" : "url");
  const auto scrape = read_scrape(line, from);
  if (!scrape) return failed(scrape.error());
  const auto seen = policy::read_seen_puts(*scrape);
  if (!seen) return {kFailed, "", from + ": " + seen.error().message()};
  const std::string proposal =
      policy::propose(*seen, by == "user" ? policy::LearnBy::user : policy::LearnBy::client,
                      line.given.contains("patterns") ? policy::Widen::patterns : policy::Widen::no,
                      from + ", " + local_time(now_seconds()));
  if (const auto valid = verify(proposal, seen->puts); !valid) return failed(valid.error());
  return {kDone, proposal};
}

}  // namespace

Command policy_learn_command() {
  return {"policy learn",
          "",
          "proposes a policy of the puts that were seen",
          kHelp,
          {{{"from", ""}, {"by", "user"}}, {"patterns"}},
          learn};
}

}  // namespace ioc_exporter::app
