#include "base/command_line.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <utility>

#include <cxxopts.hpp>

#include "base/ascii.h"
#include "base/rooted_fs.h"
#include "base/utf8.h"
#include "base/value_text.h"

namespace ioc_exporter {
namespace {

constexpr std::string_view kMark = "@exporter@\n";
constexpr const char* kLoginVariable = "IOC_EXPORTER_LOGIN";

// No password is an argument: the arguments of a process are shown to everybody.
constexpr const char* kExporterHelp =
    R"help(  --url=URL   address of the exporter (default: http://localhost:10064)
  --login-file=FILE
              file with one line USER:PASSWORD (default: the variable IOC_EXPORTER_LOGIN)
  --ca-file=FILE
              for https: certificates (PEM) of trusted authorities (default: those of this host)
  --cert-file=FILE, --key-file=FILE
              certificate and key (PEM) of this client
)help";

constexpr std::pair<const char*, const char*> kExporterOptions[] = {
    {"url", "http://localhost:10064"},
    {"login-file", ""},
    {"ca-file", ""},
    {"cert-file", ""},
    {"key-file", ""}};

bool asks_exporter(const Command& command) {
  return std::string_view(command.help).find(kMark) != std::string_view::npos;
}

std::string url_of(const CommandLine& line) {
  return line.values.at("url");
}

Error not_asked(const CommandLine& line, const std::string& why) {
  return error_in_words("ask the exporter at " + url_of(line) + ": " + why);
}

}  // namespace

Result<std::string> read_login(const std::string& file) {
  if (file.empty()) return std::string();
  auto text = RootedFs().read(file, 4096);
  if (!text) return error_in_words("read " + file + ": " + text.error().code.message());
  std::string login = text->substr(0, text->find_first_of("\r\n"));
  if (login.find(':') == std::string::npos)
    return error_in_words("read " + file + ": its first line is not USER:PASSWORD");
  return login;
}

namespace {

void take_old(const Command& command, CommandLine& line, std::vector<std::string>& words) {
  for (const auto& [name, now] : command.options.old) {
    std::string value = std::move(line.values.extract(name).mapped());
    if (!line.given.contains(name)) continue;
    const bool is_option = command.options.values.contains(now);
    line.old += std::string(line.old.empty() ? "" : "\n") + "--" + name +
                (*now == '\0' ? " has no effect any more"
                 : is_option  ? " is old: use --" + std::string(now)
                              : " is old: give " + std::string(now) + " without it");
    if (is_option) {
      line.given.insert(now);
      line.values[now] = std::move(value);
    } else if (*now != '\0') {
      words.push_back(std::move(value));
    }
  }
}

Result<CommandLine> parse(const Command& command, int count, const char* const* arguments) {
  std::vector<const char*> all = {"ioc_exporter"};
  all.insert(all.end(), arguments, arguments + count);
  try {
    cxxopts::Options description("ioc_exporter");
    description.allow_unrecognised_options();  // they are told apart from words below
    description.add_options()("h,help", "");
    for (const std::string& flag : command.options.flags) description.add_options()(flag, "");
    auto values = command.options.values;
    if (asks_exporter(command))
      values.insert(std::begin(kExporterOptions), std::end(kExporterOptions));
    for (const OldOption& old : command.options.old) values.emplace(old.name, "");
    for (const auto& [name, fallback] : values)
      description.add_options()(name, "", cxxopts::value<std::string>()->default_value(fallback));
    const auto parsed = description.parse(static_cast<int>(all.size()), all.data());
    CommandLine line;
    std::vector<std::string> words;
    for (const auto& option : parsed.arguments()) line.given.insert(option.key());
    if (line.given.contains("help")) return line;
    for (const auto& [name, fallback] : values) line.values[name] = parsed[name].as<std::string>();
    for (const std::string& word : parsed.unmatched()) {
      if (word.starts_with("-")) return error_in_words("unknown option: " + word);
      words.push_back(word);
    }
    take_old(command, line, words);
    const std::string about = command.word;
    const std::size_t wanted = about.empty() ? 0 : 1;
    if (words.size() < wanted || (wanted > 0 && words[0].empty()))
      return error_in_words("no " + about + " was given");
    if (words.size() > wanted)
      return error_in_words(wanted == 0
                                ? "unexpected argument " + shown(words[0])
                                : "one " + about + " at a time: " + words[0] + " and " + words[1]);
    if (wanted > 0) line.word = std::move(words[0]);
    return line;
  } catch (const std::exception& problem) {  // cxxopts reports so
    const std::string last = all.back();
    if (last.starts_with("--") && last.find('=') == std::string::npos)
      return error_in_words("option without its value: " + last);
    return error_in_words(problem.what());
  }
}

std::string help_of(const Command& command) {
  const std::string name = std::string("  ioc_exporter ") + command.name;
  std::string help = "NAME\n" + name + " - " + command.what + "\n\nSYNOPSIS\n" + name +
                     " [OPTION...]" + (*command.word == '\0' ? "" : " ") + command.word +
                     "\n\nDESCRIPTION\n" + command.help;
  if (asks_exporter(command)) help.replace(help.find(kMark), kMark.size(), kExporterHelp);
  return help;
}

}  // namespace

CommandResult run(const Command& command, int count, const char* const* arguments, std::FILE* out) {
  const auto line = parse(command, count, arguments);
  if (line && line->given.contains("help")) return {kDone, help_of(command), ""};
  CommandResult result = line ? command.run(*line, out) : wrong_usage(line.error().message());
  const std::string name = std::string("ioc_exporter ") + command.name;
  if (result.wrong_usage) {
    result.err += " (see " + name + " --help)";
    if (command.wrong_usage) result = command.wrong_usage(result.err);
  }
  if (line && !line->old.empty()) result.err = line->old + "\n" + result.err;
  std::string said;
  for (std::string_view lines = result.err; !lines.empty();)
    said += name + ": " + terminal_cell(std::string(take_line(lines))) + "\n";
  result.err = std::move(said);
  return result;
}

CommandResult wrong_usage(std::string why) {
  return {kWrongUsage, "", std::move(why), true};
}

CommandResult failed(const Error& why) {
  return {kFailed, "", why.message()};
}

bool write_text(std::FILE* out, std::string_view text) {
  return std::fwrite(text.data(), 1, text.size(), out) == text.size() && std::fflush(out) == 0;
}

namespace {

std::string url_to(const CommandLine& line, const std::string& target) {
  std::string url = url_of(line);
  while (url.ends_with('/')) url.pop_back();
  return url + target;
}

Result<std::string> body_or_not_asked(const CommandLine& line, Result<Fetched> fetched) {
  if (!fetched)
    return not_asked(line, fetched.error().message() +
                               " (does ioc_exporter run there? --url says where it listens)");
  auto body = body_of(std::move(fetched));
  return body ? std::move(body) : not_asked(line, body.error().message());
}

}  // namespace

Result<FetchAs> asker_of(const CommandLine& line) {
  const std::string& file = line.values.at("login-file");
  const char* const given = std::getenv(kLoginVariable);
  auto login = read_login(file);
  if (!login) return std::move(login).error();
  if (file.empty() && given != nullptr) *login = given;
  if (!login->empty() && login->find(':') == std::string::npos)
    return error_in_words(std::string(kLoginVariable) + " is not USER:PASSWORD");
  return FetchAs{
      std::move(*login),
      {line.values.at("ca-file"), line.values.at("cert-file"), line.values.at("key-file")}};
}

Result<std::string> body_of(Result<Fetched> fetched) {
  if (!fetched) return std::move(fetched).error();
  if (fetched->status == 200) return std::move(fetched->body);
  const std::string said =
      fetched->body.substr(0, std::min<std::size_t>(fetched->body.find_last_not_of('\n') + 1, 400));
  return error_in_words("it answers with HTTP status " + std::to_string(fetched->status) + ": " +
                        terminal_cell(said));
}

Result<Fetched> fetch_as(const CommandLine& line, const std::string& url) {
  const auto as = asker_of(line);
  if (!as) return as.error();
  return fetch(url, std::chrono::seconds(10), *as);
}

Result<std::string> ask_exporter(const CommandLine& line, const std::string& target) {
  return body_or_not_asked(line, fetch_as(line, url_to(line, target)));
}

CommandResult print_answer(const CommandLine& line, const std::string& target) {
  auto fetched = fetch_as(line, url_to(line, target));
  const bool is_html = fetched && fetched->content_type.starts_with("text/html");
  const bool is_unknown = fetched && fetched->content_type == kNotFoundType;
  const auto body = body_or_not_asked(line, std::move(fetched));
  if (!body) return {is_unknown ? kNotFound : kFailed, "", body.error().message()};
  if (is_html) return failed(not_an_exporter(line, "it sends HTML"));
  std::string clean;  // line by line
  for (std::string_view text = *body; !text.empty();) {
    const std::string_view one = take_line(text);
    clean.append(std::min(one.find_first_not_of(' '), one.size()), ' ');  // of a tree
    clean += printable_utf8(one, one.size()) + "\n";
  }
  return {kDone, std::move(clean), ""};
}

Result<std::string> post_to_exporter(const CommandLine& line, const std::string& target) {
  auto as = asker_of(line);
  if (!as) return as.error();
  return body_or_not_asked(line, send_post({.url = url_to(line, target),
                                            .content_type = "text/plain",
                                            .body = "",
                                            .as = std::move(*as)},
                                           std::chrono::seconds(10)));
}

Result<void> follow_exporter(const CommandLine& line, const std::string& target,
                             const std::function<bool(std::string_view)>& read,
                             std::chrono::milliseconds silence) {
  const auto as = asker_of(line);
  if (!as) return as.error();
  auto body = body_or_not_asked(line, follow(url_to(line, target), read, silence, *as));
  return body ? Result<void>() : Result<void>(body.error());
}

Error not_an_exporter(const CommandLine& line, const std::string& why) {
  return not_asked(line, "it answers, but not as ioc_exporter does: " + why);
}

std::string terminal_cell(const std::string& text) {
  const std::string clean = printable_utf8(text, text.size());
  return clean.empty() ? "-" : clean;
}

}  // namespace ioc_exporter
