#include "app/manual.h"

#include <gtest/gtest.h>

#include "app/options.h"

namespace ioc_exporter::app {
namespace {

// Refers to values that nobody sets.
OptionTable table() {
  static std::string path = "/x", level = "info", dir;
  static bool check = false, pin = true;
  OptionTable table({"Web", "Other"});
  table.add("Web", {{"--web.path=PATH web.path", ".hidden\\path - a", text(path)},
                    {"--check", "Look", on_off(check)}});
  table.add("Other", {{"--log.level=LEVEL", "How much",
                       one_of<std::string>(level, {{"info", "info"}, {"warn", "warn"}})},
                      {"--pin", "Keep", on_off(pin)},
                      {"--state.dir=DIR", "Where", text(dir)}});
  return table;
}

std::string printed(const char* option) {
  const char* arguments[] = {"ioc_exporter", option};
  auto result = parse_options(2, arguments);
  EXPECT_TRUE(result);
  return result ? std::get<PrintAndExit>(*result).text : "";
}

TEST(Manual, OptionsAreEscaped) {
  const std::string page = man_page(table());
  EXPECT_NE(page.find(".SS Web\n.TP\n\\fB\\-\\-web.path\\fR=\\fIPATH\\fR\n"
                      "\\&.hidden\\epath \\- a.\nDefault: /x\n.TP\n\\fB\\-\\-check\\fR\nLook.\n"),
            std::string::npos)
      << page;
}

TEST(Manual, CompletionKnowsOptionsAndArguments) {
  const std::string script = bash_completion(table());
  for (const char* part : {"options='--web.path= --check --log.level= --pin --no-pin --state.dir='",
                           "--log.level)", "compgen -W 'info warn'", "compgen -d"})
    EXPECT_NE(script.find(part), std::string::npos) << part;
}

TEST(Manual, WhatIsOnHasItsOpposite) {
  EXPECT_NE(man_page(table()).find(
                "\\-\\-pin\\fR\nKeep; off: \\-\\-no\\-pin.\n.TP\n\\fB\\-\\-no\\-pin\\fR\nTurns "),
            std::string::npos);
}

TEST(Manual, Reference) {
  EXPECT_EQ(option_reference(table()),
            "### Web\n\n| option | default | what |\n|---|---|---|\n"
            "| `--web.path=PATH` `web.path` | `/x` | .hidden\\path - a |\n"
            "| `--check` |  | Look |\n"
            "\n### Other\n\n| option | default | what |\n|---|---|---|\n"
            "| `--log.level=LEVEL` | `info` | How much |\n"
            "| `--pin` | `on` | Keep; off: --no-pin |\n"
            "| `--state.dir=DIR` |  | Where |\n");
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
