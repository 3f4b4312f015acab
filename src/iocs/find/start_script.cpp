#include "iocs/find/start_script.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace ioc_exporter::iocs {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::array kInterpreters{"python"sv, "pypy"sv, "ipython"sv, "sh"sv,  "bash"sv, "dash"sv,
                                   "zsh"sv,    "perl"sv, "tclsh"sv,   "lua"sv, "ruby"sv};
constexpr std::array kScripts{".cmd"sv, ".iocsh"sv, ".ioc"sv, ".py"sv,
                              ".sh"sv,  ".bash"sv,  ".lua"sv};
constexpr std::array kDatabases{".db"sv, ".vdb"sv, ".template"sv};
constexpr std::array kGenericStems{"st"sv,  "start"sv, "startup"sv, "run"sv,
                                   "ioc"sv, "main"sv,  "boot"sv,    "init"sv,
                                   "app"sv, "test"sv,  "__main__"sv};
constexpr std::array kGenericFolders{""sv,     "bin"sv,  "scripts"sv, "src"sv,     "boot"sv,
                                     "ioc"sv,  "iocs"sv, "config"sv,  "startup"sv, "iocboot"sv,
                                     "home"sv, "tmp"sv,  "app"sv,     "opt"sv,     "epics"sv,
                                     "db"sv,   "usr"sv,  "local"sv};

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool among(std::string_view text, const auto& words) {
  return std::ranges::find(words, lower(text)) != words.end();
}

std::string_view base_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool ends_in(std::string_view path, const auto& endings) {
  return std::ranges::any_of(endings, [&](std::string_view end) { return path.ends_with(end); });
}

// "python3.11" is python.
bool is_interpreter(std::string_view executable) {
  std::string_view name = base_name(executable);
  name = name.substr(0, std::min(name.find_first_of("0123456789.-"), name.size()));
  return among(name, kInterpreters);
}

bool looks_like_script(std::string_view path) {
  const std::string_view base = base_name(path);
  return ends_in(base, kScripts) || base.starts_with("st.") || base.find(".cmd.") != base.npos;
}

}  // namespace

std::vector<std::string> split_arguments(std::string_view cmdline) {
  std::vector<std::string> arguments;
  while (!cmdline.empty()) {
    const auto end = std::min(cmdline.find('\0'), cmdline.size());
    arguments.emplace_back(cmdline.substr(0, end));
    cmdline.remove_prefix(std::min(end + 1, cmdline.size()));
  }
  return arguments;
}

std::optional<std::string> find_start_script(
    const std::vector<std::string>& arguments, std::string_view executable,
    const std::function<std::optional<std::string>(const std::string&)>& locate) {
  const bool any_file = is_interpreter(executable);
  std::optional<std::string> database;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument.empty() || argument.front() == '-') continue;
    const bool script = any_file || looks_like_script(argument);
    if (!script && (database || !ends_in(argument, kDatabases))) continue;
    auto path = locate(argument);
    if (!path) continue;
    if (script) return path;
    database = std::move(path);
  }
  return database;
}

std::string name_from_script(std::string_view path) {
  std::string_view base = base_name(path);
  const bool known_ending = ends_in(base, kScripts) || ends_in(base, kDatabases);
  std::string_view stem = known_ending ? base.substr(0, base.rfind('.')) : base;
  // "st.cmd.linux" and the like: the ending is the kind of host, not the IOC.
  if (stem.starts_with("st.") || stem.starts_with("start.")) stem = stem.substr(0, stem.find('.'));
  if (!stem.empty() && !among(stem, kGenericStems)) return std::string(stem);
  for (int up = 0; up < 3; ++up) {
    const auto slash = path.rfind('/');
    if (slash == std::string_view::npos) return "";
    path = path.substr(0, slash);
    const std::string_view folder = base_name(path);
    if (!among(folder, kGenericFolders)) return std::string(folder);
  }
  return "";
}

}  // namespace ioc_exporter::iocs
