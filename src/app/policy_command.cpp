#include "app/policy_command.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/command_line.h"

namespace ioc_exporter::app {
namespace {

constexpr const char* kPolicyHelp = R"help(NAME
  ioc_exporter policy - try out which puts the site's policy expects, or have one proposed

SYNOPSIS
  ioc_exporter policy test FILE [--pv=PV] [--user=USER] [--host=HOST] [--client=ADDRESS]
                                [--op=write|write_notify] [--time=TIME]
  ioc_exporter policy learn [--url=URL] [--from=URL|FILE] [--by=user|client]

DESCRIPTION
  test   Judges a put by the policy in the configuration file FILE: says which rule decides, and why
         the rules before it do not match. Options that are not given are unknown names. No exporter
         has to run.
           --op      the operation; default: write
           --time    when the put comes, "2026-11-23 08:00" in local time, or with Z or +01:00 at
                     its end; default: now

  learn  Prints a policy that expects what an exporter has seen since it started, for a person to
         read and edit. It is a whole configuration file, and passes --config.check.
           --from    the URL of its metrics, or a file with one scrape of them in text format, in
                     place of --url
           --by      a rule for each user (the default), or for each user, host and address

  Needs no root. What the policy's keys mean is in docs/policy.md.

OPTIONS OF learn
@exporter@

EXIT STATUS
  0 done; of test: the put is allowed or expected
  1 the file, or the exporter, does not give what it should
  2 wrong usage
  3 of test: the put is unexpected or forbidden

EXAMPLES
  ioc_exporter policy learn > site.yml
  ioc_exporter policy test site.yml --pv=SR:B1:Current-SP --user=operator --client=10.0.0.7
)help";

}  // namespace

CommandResult policy_command(int count, const char* const* arguments) {
  const std::string what = count > 0 ? arguments[0] : "";
  const auto is_help = [](std::string_view word) { return word == "--help" || word == "-h"; };
  if (std::any_of(arguments, arguments + count, is_help))
    return {0, with_exporter_help(kPolicyHelp), ""};
  if (what == "test") return policy_test_command(count - 1, arguments + 1);
  if (what == "learn") return policy_learn_command(count - 1, arguments + 1);
  const std::string problem =
      what.empty() ? "what? test or learn" : "\"" + what + "\" is neither test nor learn";
  return {2, "", "ioc_exporter policy: " + problem + " (see ioc_exporter policy --help)\n"};
}

}  // namespace ioc_exporter::app
