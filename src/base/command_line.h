// The arguments of a command, and asking the exporter that runs.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/http_client.h"
#include "base/result.h"

namespace ioc_exporter {

// Output and exit status of a command: ioc_exporter who-wrote, trace, policy.
struct CommandResult {
  int status = 0;
  std::string out;  // to standard output
  std::string err;  // to standard error, lines
};

// The options of a command; --help, -h is among the flags of each.
struct CommandOptions {
  std::map<std::string, std::string> values;  // those that take one, with the default
  std::set<std::string> flags;
};

struct CommandLine {
  std::map<std::string, std::string> values;  // of each option that takes one
  std::set<std::string> given;                // options and flags
  std::vector<std::string> words;             // that are no options
};

// `arguments`: those after the command. Errors name the argument. cxxopts stays inside: what a
// value means is the command's to say.
Result<CommandLine> parse_command(const CommandOptions& options, int count,
                                  const char* const* arguments);

// With --url and the options of the login, of the commands that ask a running exporter.
CommandOptions with_exporter_options(CommandOptions options);
// `help` with their texts in place of its line "@exporter@".
std::string with_exporter_help(std::string help);

// "USER:PASSWORD", the file's first line; "" where no file is given.
Result<std::string> read_login(const std::string& file);

// Login and files for TLS that the options name.
Result<FetchAs> asker_of(const CommandLine& line);
// The body of an answer with status 200; another status is an error, in the server's own words.
Result<std::string> body_of(Result<Fetched> fetched);

// The body of the exporter's answer to GET `target`, a path with its query. An answer with another
// status than 200 is an error too, in the exporter's own words.
Result<std::string> ask_exporter(const CommandLine& line, const std::string& target);

// A command that asks the exporter that runs for one page of text, and prints it without what may
// steer a terminal.
struct PageCommand {
  const char* name;
  const char* help;  // with the line "@exporter@"
  const char* word;  // what it is about: "record"; "" = nothing
  CommandOptions options;
  // Path of the page, with its query; the error is wrong usage.
  std::function<Result<std::string>(const CommandLine&)> target;
};
// `arguments` are those after the command. Statuses: 0 it is printed; 1 no exporter answered (as it
// should), or it does not know what was asked for; 2 wrong usage.
CommandResult run_page_command(const PageCommand& command, int count, const char* const* arguments);

// The same of a POST there, without a body.
Result<std::string> tell_exporter(const CommandLine& line, const std::string& target);

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
