// The arguments of a command, and asking the exporter that runs.
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/http_client.h"
#include "base/result.h"

namespace ioc_exporter {

// Exit statuses of all commands; of ioc_exporter check those of Nagios.
inline constexpr int kDone = 0, kFailed = 1, kWrongUsage = 2, kNotFound = 3;

// `err`: lines for standard error, without the command's name; of wrong usage what is wrong.
struct CommandResult {
  int status = kDone;
  std::string out = {};  // to standard output
  std::string err = {};
  bool wrong_usage = false;
};

// A spelling of the release before, which takes a value: accepted, and said to be old. `now`: the
// option that it sets, or Command::word; "" = it has no effect.
struct OldOption {
  const char* name;
  const char* now;
};

// The options of a command; --help, -h is among the flags of each.
struct CommandOptions {
  std::map<std::string, std::string> values = {};  // those that take one, with the default
  std::set<std::string> flags = {};
  std::vector<OldOption> old = {};
};

struct CommandLine {
  std::map<std::string, std::string> values;  // of each option that takes one
  std::set<std::string> given;                // options and flags
  std::string word;                           // that is no option: what the command is about
  std::string old;                            // what to say of options of the release before
};

// A row of the table of commands (app/commands.cpp). --help, the manual page and the completion of
// shells are made from it.
struct Command {
  const char* name;  // "links", "policy test"
  const char* word;  // what it takes: "IOC"; "" = nothing
  const char* what;  // in the program's --help, and its own
  const char* help;  // its own from DESCRIPTION on; with the line "@exporter@" it asks an exporter
  CommandOptions options;
  // May write to `out` before it returns.
  std::function<CommandResult(const CommandLine&, std::FILE* out)> run;
  // Prints wrong usage. Null: as a line to standard error.
  std::function<CommandResult(const std::string& why)> wrong_usage = {};
};

// Reads `arguments`, those after the command, prints its help or runs it. The result's `err` is as
// it is to be printed. cxxopts stays inside: what a value means is the command's to say.
CommandResult run(const Command& command, int count, const char* const* arguments,
                  std::FILE* out = stdout);

CommandResult wrong_usage(std::string why);
CommandResult failed(const Error& why);
bool write_text(std::FILE* out, std::string_view text);

// "USER:PASSWORD", the file's first line; "" where no file is given.
Result<std::string> read_login(const std::string& file);

// Login and files for TLS that the options name.
Result<FetchAs> asker_of(const CommandLine& line);
// The body of an answer with status 200; another status is an error, in the server's own words.
Result<std::string> body_of(Result<Fetched> fetched);

// The body of the exporter's answer to GET `target`, a path with its query. An answer with another
// status than 200 is an error too, in the exporter's own words.
Result<std::string> ask_exporter(const CommandLine& line, const std::string& target);

// The answer to GET `target` for the terminal, without what may steer it; of HTML an error. Of
// kNotFoundType: kNotFound.
CommandResult print_answer(const CommandLine& line, const std::string& target);

// As ask_exporter(), of a POST there, without a body.
Result<std::string> post_to_exporter(const CommandLine& line, const std::string& target);

// The same of an answer that goes on: `read` is given what comes of it, until it returns false or
// the exporter ends it. `silence`: how long nothing may come.
Result<void> follow_exporter(const CommandLine& line, const std::string& target,
                             const std::function<bool(std::string_view)>& read,
                             std::chrono::milliseconds silence = std::chrono::seconds(30));

// The same of any URL, and whatever it answers.
Result<Fetched> fetch_as(const CommandLine& line, const std::string& url);

// The error for an answer that is not an ioc_exporter's.
Error not_an_exporter(const CommandLine& line, const std::string& why);

// Nothing in `text`, which others chose, may steer the terminal. One line; "-" for none.
std::string terminal_cell(const std::string& text);

}  // namespace ioc_exporter
