#include "iocs/ioc_name.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "base/live_thread.h"
#include "base/utf8.h"
#include "base/value_text.h"
#include "iocs/start_script.h"

namespace ioc_exporter::iocs {
namespace {

constexpr std::size_t kLongestName = 128;
constexpr std::size_t kMostText = 2u << 20;  // of the command line and of the environment
constexpr int kMostFilesLookedAt = 64;

using Kind = NameSource::Kind;

std::string variable_of(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& entry : environment)
    if (entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name))
      return entry.substr(name.size() + 1);
  return "";
}

// "/a/./b/../c" is "/a/c".
std::string plain_path(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const auto end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part != "..")
      parts.push_back(part);
    else if (!parts.empty())
      parts.pop_back();
  }
  std::string plain;
  for (const std::string_view part : parts) (plain += '/') += part;
  return plain;
}

// One process' command line, environment and folder, read when first asked for.
class Process {
 public:
  Process(const RootedFs& fs, ProcessReader& reader, pid_t pid, pid_t thread)
      : fs_(fs), reader_(reader), pid_(pid), folder_(folder_of_thread(pid, thread)) {}

  const std::vector<std::string>& environment() {
    if (!environment_) environment_ = read("/environ");
    return *environment_;
  }

  // What could not be read for now.
  const std::optional<Error>& unread() const { return unread_; }

  std::string script_name(const std::string& executable) {
    const std::vector<std::string> arguments = read("/cmdline");
    const auto script =
        find_start_script(arguments, executable, [this](const std::string& argument) {
          return looks_ < kMostFilesLookedAt ? locate(argument) : std::nullopt;
        });
    if (script) return name_from_script(*script);
    // python -m package.module: no file, but a name.
    const auto module = std::ranges::find(arguments, "-m");
    const auto slash = executable.rfind('/');
    const bool python = executable.compare(slash + 1, 6, "python") == 0;
    const bool named = module != arguments.end() && module + 1 != arguments.end();
    return python && named ? *(module + 1) : "";
  }

 private:
  std::vector<std::string> read(std::string_view name) {
    auto text = reader_.text(pid_, folder_ + std::string(name), kMostText);
    if (text) return split_arguments(*text);
    note(std::move(text).error());
    return {};
  }
  void note(Error error) {
    if (is_for_now(error)) unread_ = std::move(error);
  }

  // A relative path starts where the process was started (a start script often leaves that folder),
  // or else where it is now.
  std::optional<std::string> locate(const std::string& argument) {
    if (argument.front() == '/') return regular_file(argument);
    const std::string started_in = variable_of(environment(), "PWD");
    if (started_in.starts_with('/'))
      if (auto path = regular_file(started_in + "/" + argument)) return path;
    const auto now_in = fs_.read_link(folder_ + "/cwd");
    return now_in ? regular_file(*now_in + "/" + argument) : std::nullopt;
  }

  std::optional<std::string> regular_file(const std::string& path) {
    ++looks_;
    auto status = reader_.status(pid_, folder_ + "/root" + path);
    if (!status) note(std::move(status).error());
    return status && S_ISREG(status->st_mode) ? std::optional(plain_path(path)) : std::nullopt;
  }

  const RootedFs& fs_;
  ProcessReader& reader_;
  pid_t pid_;
  std::string folder_;
  std::optional<std::vector<std::string>> environment_;
  std::optional<Error> unread_;
  int looks_ = 0;
};

}  // namespace

std::vector<NameSource> default_name_sources() {
  return {{Kind::environment, "IOCNAME"},
          {Kind::environment, "IOC_NAME"},
          {Kind::environment, "IOC"},
          {Kind::script, ""},
          {Kind::executable, ""}};
}

std::string NameSource::text() const {
  if (kind == Kind::environment) return "env:" + variable;
  return kind == Kind::script ? "script" : "exe";
}

Result<NameSource> parse_name_source(const std::string& word) {
  if (word.starts_with("env:") && word.size() > 4)
    return NameSource{Kind::environment, word.substr(4)};
  if (word == "script") return NameSource{Kind::script, ""};
  if (word == "exe") return NameSource{Kind::executable, ""};
  return error_in_words(shown(word) + " is none of env:VARIABLE, script and exe");
}

Result<std::string> ioc_name(const RootedFs& fs, ProcessReader& reader, pid_t pid, pid_t thread,
                             const std::string& executable,
                             const std::vector<NameSource>& sources) {
  Process process(fs, reader, pid, thread);
  const std::string base = executable.substr(executable.rfind('/') + 1);
  for (const NameSource& source : sources) {
    std::string name = base;
    if (source.kind == Kind::environment)
      name = variable_of(process.environment(), source.variable);
    if (source.kind == Kind::script) name = process.script_name(executable);
    if (process.unread()) return *process.unread();
    name = printable_utf8(name, kLongestName);
    if (!name.empty()) return name;
  }
  std::string name = printable_utf8(base, kLongestName);
  return name.empty() ? "ioc" : name;
}

}  // namespace ioc_exporter::iocs
