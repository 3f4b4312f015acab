#include "iocs/find/ioc_name.h"

#include <algorithm>

#include "base/json_reader.h"
#include "base/process_stats.h"
#include "base/utf8.h"
#include "base/value_text.h"
#include "iocs/find/start_script.h"
#include "iocs/find/supervisor.h"

namespace ioc_exporter::iocs {
namespace {

constexpr const char* kKubelet = "/var/log/containers";
constexpr const char* kDocker = "/var/lib/docker/containers/";
constexpr const char* kPodman = "/var/lib/containers/storage/overlay-containers/containers.json";
constexpr std::size_t kIdLength = 64;
constexpr std::size_t kMostFiles = 10'000;
constexpr std::size_t kMostJson = 4u << 20;

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

// POD_NAMESPACE_CONTAINER-ID.log: no part can have an underscore.
std::optional<ContainerName> from_kubelet(std::string_view file, const std::string& id) {
  const std::string ending = "-" + id + ".log";
  if (!file.ends_with(ending)) return std::nullopt;
  file.remove_suffix(ending.size());
  const auto first = file.find('_'), last = file.rfind('_');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  return ContainerName{std::string(file.substr(0, first)), std::string(file.substr(last + 1))};
}

// Null: the file is missing, or no JSON.
Json json_in(const RootedFs& fs, const std::string& path) {
  const auto text = fs.read_regular(path, kMostJson);
  if (!text) return {};
  auto json = Json::parse(*text);
  return json ? std::move(*json) : Json();
}

std::string from_docker(const RootedFs& fs, const std::string& id) {
  const std::string name = json_in(fs, kDocker + id + "/config.v2.json").text_at("Name");
  return name.starts_with('/') ? name.substr(1) : name;
}

std::string from_podman(const RootedFs& fs, const std::string& id) {
  const Json json = json_in(fs, kPodman);
  const auto* const containers = json.get_if<Json::Array>();
  if (containers == nullptr) return "";
  for (const Json& one : *containers) {
    if (one.text_at("id") != id) continue;
    const Json* const names = one.find("names");
    const auto* const list = names == nullptr ? nullptr : names->get_if<Json::Array>();
    const auto* const first =
        list == nullptr || list->empty() ? nullptr : list->front().get_if<std::string>();
    return first == nullptr ? "" : *first;
  }
  return "";
}

}  // namespace

std::string container_id(std::string_view cgroups) {
  std::string_view id;
  for (std::size_t at = 0; at < cgroups.size();) {
    const auto begin = static_cast<std::size_t>(
        std::find_if(cgroups.begin() + static_cast<std::ptrdiff_t>(at), cgroups.end(), is_hex) -
        cgroups.begin());
    const auto end = static_cast<std::size_t>(
        std::find_if_not(cgroups.begin() + static_cast<std::ptrdiff_t>(begin), cgroups.end(),
                         is_hex) -
        cgroups.begin());
    if (end - begin == kIdLength) id = cgroups.substr(begin, kIdLength);
    at = std::max(end, begin + 1);
  }
  return std::string(id);
}

Result<ContainerName> container_name(const RootedFs& fs, const std::string& id, bool starts) {
  const auto files = fs.list(kKubelet, kMostFiles);
  if (files)
    for (const std::string& file : *files)
      if (auto name = from_kubelet(file, id)) return *name;
  ContainerName name;
  name.container = from_docker(fs, id);
  if (name.container.empty()) name.container = from_podman(fs, id);
  if (name.container.empty() && files && starts)
    return error_from_errno(EAGAIN, "find container " + id + " in " + kKubelet);
  return name;
}

namespace {

constexpr std::size_t kLongestName = 128;
constexpr std::size_t kMostText = 2u << 20;  // of the command line and of the environment
constexpr int kMostFilesRead = 64;

using Kind = NameSource::Kind;

// Sources that are a single word.
constexpr std::array<std::pair<Kind, std::string_view>, 5> kWords = {
    {{Kind::script, "script"},
     {Kind::procserv, "procserv"},
     {Kind::executable, "exe"},
     {Kind::container, "container"},
     {Kind::pod, "pod"}}};

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
  Process(const RootedFs& fs, ProcessReader& reader, pid_t pid, pid_t thread, bool starts)
      : fs_(fs),
        reader_(reader),
        pid_(pid),
        folder_(folder_of_thread(pid, thread)),
        starts_(starts) {}

  const std::vector<std::string>& environment() {
    if (!environment_) environment_ = read("/environ");
    return *environment_;
  }

  // Why a source could not be read for now.
  const std::optional<Error>& unread() const { return unread_; }

  std::string script_name(const std::string& executable) {
    const std::vector<std::string> arguments = read("/cmdline");
    const auto script =
        find_start_script(arguments, executable, [this](const std::string& argument) {
          return files_read_ < kMostFilesRead ? locate(argument) : std::nullopt;
        });
    if (script) return name_from_script(*script);
    // python -m package.module: no file, but a name.
    const auto module = std::ranges::find(arguments, "-m");
    const auto slash = executable.rfind('/');
    const bool python = executable.compare(slash + 1, 6, "python") == 0;
    const bool named = module != arguments.end() && module + 1 != arguments.end();
    return python && named ? *(module + 1) : "";
  }

  std::string name_from_procserv() {
    const auto procserv = find_procserv(fs_, pid_);
    return procserv ? procserv_name(
                          read(procserv->pid, "/proc/" + std::to_string(procserv->pid), "/cmdline"))
                    : std::string();
  }

  const ContainerName& container() {
    if (container_) return *container_;
    container_.emplace();
    const auto cgroups = fs_.read(folder_ + "/cgroup", kMostText);
    const std::string id = cgroups ? container_id(*cgroups) : std::string();
    if (id.empty()) return *container_;
    if (auto name = container_name(fs_, id, starts_))
      *container_ = std::move(*name);
    else
      note(std::move(name).error());
    return *container_;
  }

 private:
  std::vector<std::string> read(std::string_view name) { return read(pid_, folder_, name); }
  std::vector<std::string> read(pid_t pid, const std::string& folder, std::string_view name) {
    auto text = reader_.text(pid, folder + std::string(name), kMostText);
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
    ++files_read_;
    auto status = reader_.status(pid_, folder_ + "/root" + path);
    if (!status) note(std::move(status).error());
    return status && S_ISREG(status->st_mode) ? std::optional(plain_path(path)) : std::nullopt;
  }

  const RootedFs& fs_;
  ProcessReader& reader_;
  pid_t pid_;
  std::string folder_;
  std::optional<std::vector<std::string>> environment_;
  std::optional<ContainerName> container_;
  std::optional<Error> unread_;
  int files_read_ = 0;
  bool starts_;
};

// Name from the source; "": none.
std::string ask(Process& process, const NameSource& source, const std::string& executable) {
  switch (source.kind) {
    case Kind::environment:
      return variable_of(process.environment(), source.variable);
    case Kind::script:
      return process.script_name(executable);
    case Kind::procserv:
      return process.name_from_procserv();
    case Kind::executable:
      return executable.substr(executable.rfind('/') + 1);
    case Kind::container:
      return process.container().container;
    case Kind::pod:
      return process.container().pod;
  }
  return "";
}

}  // namespace

std::vector<NameSource> default_name_sources() {
  return {{Kind::environment, "IOCNAME"}, {Kind::environment, "IOC_NAME"},
          {Kind::environment, "IOC"},     {Kind::script, ""},
          {Kind::procserv, ""},           {Kind::executable, ""}};
}

std::string NameSource::text() const {
  if (kind == Kind::environment) return "env:" + variable;
  return std::string(std::ranges::find(kWords, kind, &decltype(kWords)::value_type::first)->second);
}

Result<NameSource> parse_name_source(const std::string& word) {
  if (word.starts_with("env:") && word.size() > 4)
    return NameSource{Kind::environment, word.substr(4)};
  const auto found = std::ranges::find(kWords, word, &decltype(kWords)::value_type::second);
  if (found != kWords.end()) return NameSource{found->first, ""};
  return error_in_words(shown(word) +
                        " is none of env:VARIABLE, script, procserv, exe, container and pod");
}

Result<std::string> ioc_name(const RootedFs& fs, ProcessReader& reader, pid_t pid, pid_t thread,
                             const std::string& executable, const std::vector<NameSource>& sources,
                             bool starts) {
  Process process(fs, reader, pid, thread, starts);
  for (const NameSource& source : sources) {
    const std::string name = printable_utf8(ask(process, source, executable), kLongestName);
    if (process.unread()) return *process.unread();
    if (!name.empty()) return name;
  }
  std::string name = printable_utf8(ask(process, {}, executable), kLongestName);
  return name.empty() ? "ioc" : name;
}

}  // namespace ioc_exporter::iocs
