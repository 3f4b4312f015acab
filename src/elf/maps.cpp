#include "elf/maps.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <tuple>

#include "base/ascii.h"

namespace ioc_exporter::elf {
namespace {

constexpr std::string_view kDeletedSuffix = " (deleted)";
constexpr std::size_t kMostRanges = 64;  // of one file

// Takes a number off the front of `text`, and the character `end` behind it.
bool take(std::string_view& text, int base, char end, std::uint64_t& number) {
  const char* const last = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), last, number, base);
  if (error != std::errc{} || stop == last || *stop != end) return false;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()) + 1);
  return true;
}

std::string unescape(std::string_view path) {
  std::string plain;
  for (std::size_t at = 0; at < path.size();) {
    const bool newline = path.substr(at, 4) == "\\012";
    plain += newline ? '\n' : path[at];
    at += newline ? 4 : 1;
  }
  return plain;
}

bool is_executable(std::string_view line) {
  const auto space = line.find(' ');
  return space != std::string_view::npos && line.size() > space + 3 && line[space + 3] == 'x';
}

}  // namespace

std::optional<Mapping> parse_mapping(std::string_view line) {
  Mapping mapping;
  if (!take(line, 16, '-', mapping.start) || !take(line, 16, ' ', mapping.end)) return {};
  if (line.size() < 5 || line[4] != ' ') return {};
  mapping.executable = line[2] == 'x';
  line.remove_prefix(5);
  if (!take(line, 16, ' ', mapping.offset)) return {};
  const auto device_end = line.find(' ');
  if (device_end == std::string_view::npos) return {};
  mapping.device = line.substr(0, device_end);
  line.remove_prefix(device_end + 1);

  const char* const last = line.data() + line.size();
  const auto [stop, error] = std::from_chars(line.data(), last, mapping.inode);
  if (error != std::errc{}) return {};
  line.remove_prefix(static_cast<std::size_t>(stop - line.data()));
  const auto path = line.find_first_not_of(' ');
  if (path == std::string_view::npos) return mapping;
  line.remove_prefix(path);
  if (line.ends_with(kDeletedSuffix)) {
    mapping.deleted = true;
    line.remove_suffix(kDeletedSuffix.size());
  }
  mapping.path = unescape(line);
  return mapping;
}

std::vector<Mapping> executable_modules(std::string_view maps) {
  std::vector<Mapping> modules;
  std::map<std::tuple<std::string, std::uint64_t, std::string>, std::size_t> known;
  while (!maps.empty()) {
    const std::string_view line = take_line(maps);
    if (!is_executable(line)) continue;
    auto mapping = parse_mapping(line);
    if (!mapping || mapping->inode == 0 || !mapping->path.starts_with('/')) continue;
    const std::pair code(mapping->offset, mapping->offset + (mapping->end - mapping->start));
    const auto [module, is_new] =
        known.try_emplace({mapping->device, mapping->inode, mapping->path}, modules.size());
    if (is_new) modules.push_back(std::move(*mapping));
    if (auto& ranges = modules[module->second].code; ranges.size() < kMostRanges)
      ranges.push_back(code);
  }
  return modules;
}

bool maps_code_at(const Mapping& module, std::uint64_t offset) {
  return std::ranges::any_of(module.code, [offset](const auto& range) {
    return offset >= range.first && offset < range.second;
  });
}

std::string map_files_name(const Mapping& mapping) {
  char name[40];
  std::snprintf(name, sizeof name, "%llx-%llx", static_cast<unsigned long long>(mapping.start),
                static_cast<unsigned long long>(mapping.end));
  return name;
}

}  // namespace ioc_exporter::elf
