#include "app/manual.h"

#include <gtest/gtest.h>

#include "app/options.h"

namespace ioc_exporter::app {
namespace {

const std::vector<OptionGroup> kGroups = {
    {"Web", {{"web.path", "PATH", ".hidden\\path - a", "/x"}, {"check", "", "Look", ""}}},
    {"Other", {{"log.level", "LEVEL", "How much", "info"}, {"state.dir", "DIR", "Where", ""}}}};

std::string printed(const char* option) {
  const char* arguments[] = {"ioc_exporter", option};
  auto result = parse_options(2, arguments);
  EXPECT_TRUE(result);
  return result ? std::get<PrintAndExit>(*result).text : "";
}

TEST(Manual, OptionsAreEscaped) {
  const std::string page = man_page(kGroups);
  EXPECT_NE(page.find(".SS Web\n.TP\n\\fB\\-\\-web.path\\fR=\\fIPATH\\fR\n"
                      "\\&.hidden\\epath \\- a.\nDefault: /x\n.TP\n\\fB\\-\\-check\\fR\nLook.\n"),
            std::string::npos)
      << page;
}

TEST(Manual, CompletionKnowsOptionsAndArguments) {
  const std::string script = bash_completion(kGroups);
  for (const char* part :
       {"options='--web.path= --check --log.level= --state.dir='", "--log.level)", "compgen -d"})
    EXPECT_NE(script.find(part), std::string::npos) << part;
}

// Every option of --help is in both, whatever is added.
TEST(Manual, HasWhatHelpHas) {
  const std::string help = printed("--help");
  const std::string page = printed("--help-man"), script = printed("--completion-script-bash");
  int options = 0;
  for (std::size_t at = help.find(" --"); at != std::string::npos; at = help.find(" --", at + 1)) {
    if (help.find_last_not_of(" -h,", at) != help.find_last_of('\n', at)) continue;  // in a text
    const std::string name = help.substr(at + 3, help.find_first_of(" \n", at + 3) - at - 3);
    std::string dashes;
    for (const char c : name) dashes += c == '-' ? "\\-" : std::string(1, c);
    EXPECT_NE(page.find("\n\\fB\\-\\-" + dashes + "\\fR"), std::string::npos) << name;
    EXPECT_TRUE(script.find(" --" + name + "=") != std::string::npos ||
                script.find(" --" + name + " ") != std::string::npos ||
                script.find("'--" + name) != std::string::npos ||
                script.find(" --" + name + "'") != std::string::npos)
        << name;
    ++options;
  }
  EXPECT_GT(options, 30);
}

}  // namespace
}  // namespace ioc_exporter::app
