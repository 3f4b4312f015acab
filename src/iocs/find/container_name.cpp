#include "iocs/find/container_name.h"

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

namespace ioc_exporter::iocs {
namespace {

using Json = nlohmann::json;

constexpr const char* kKubelet = "/var/log/containers";
constexpr const char* kDocker = "/var/lib/docker/containers/";
constexpr const char* kPodman = "/var/lib/containers/storage/overlay-containers/containers.json";
constexpr std::size_t kIdLength = 64;
constexpr std::size_t kMostFiles = 10'000;
constexpr std::size_t kMostJson = 4u << 20;

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

// In none of the three parts can there be an underscore.
std::optional<ContainerName> from_kubelet(std::string_view file, const std::string& id) {
  const std::string ending = "-" + id + ".log";
  if (!file.ends_with(ending)) return std::nullopt;
  file.remove_suffix(ending.size());
  const auto first = file.find('_'), last = file.rfind('_');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  return ContainerName{std::string(file.substr(0, first)), std::string(file.substr(last + 1))};
}

// Never throws: what is no JSON is an empty one.
Json read_json(const RootedFs& fs, const std::string& path) {
  const auto text = fs.read_regular(path, kMostJson);
  return text ? Json::parse(*text, nullptr, false) : Json();
}

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::string from_docker(const RootedFs& fs, const std::string& id) {
  const Json json = read_json(fs, kDocker + id + "/config.v2.json");
  const std::string name =
      json.is_object() && json.contains("Name") ? text_of(json["Name"]) : std::string();
  return name.starts_with('/') ? name.substr(1) : name;
}

std::string from_podman(const RootedFs& fs, const std::string& id) {
  const Json json = read_json(fs, kPodman);
  if (!json.is_array()) return "";
  for (const Json& one : json) {
    if (!one.is_object() || !one.contains("id") || text_of(one["id"]) != id) continue;
    const Json names = one.value("names", Json::array());
    return names.is_array() && !names.empty() ? text_of(names.front()) : std::string();
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

}  // namespace ioc_exporter::iocs
