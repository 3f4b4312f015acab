// Config: the site's YAML file, read and checked as a whole. docs/configuration.md is its
// reference.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/yaml_reader.h"
#include "base/pattern.h"
#include "base/result.h"

namespace ioc_exporter::app {

// How many series of their own the things of a kind may have; what the file does not say is empty.
// A thing is a record, a PV that a client wrote to, ... and may have a series in several families.
struct Limit {
  std::optional<std::uint64_t> series;      // of all together
  std::optional<std::uint64_t> per_ioc;     // of one IOC
  std::optional<std::uint64_t> per_client;  // of one client's address
};

inline constexpr std::uint64_t kMostSeries = 10'000'000;

// Keys of `limits`, in the order of the documents. `ioc`, `client`: which bounds a kind has.
struct LimitKind {
  const char* name;
  bool ioc, client;
};
inline constexpr LimitKind kLimitKinds[] = {
    {"records", true, false},       {"puts", true, true},      {"put_failures", true, true},
    {"put_durations", true, false}, {"pvs", true, false},      {"clients", true, true},
    {"searches", false, false},     {"beacons", false, false}, {"unexpected_puts", true, true}};
inline constexpr std::size_t kLimitKindCount = std::size(kLimitKinds);
using Limits = std::array<Limit, kLimitKindCount>;  // in the order of kLimitKinds

// Records whose whole name `match` matches are shown as one: record_group = `group` with \1 ... as
// captured. The first that matches counts.
struct RecordGroup {
  Pattern match;
  std::string group;
};

struct Config {
  struct Iocs {
    std::optional<Pattern> include, exclude;
    std::vector<std::string> name_sources;  // env:VARIABLE, script, exe; empty: not said
  } iocs;
  NameFilter records;
  std::vector<RecordGroup> groups;
  NameFilter pvs;
  Limits limits;
  std::optional<std::chrono::milliseconds> put_expiry;  // pvs.expire
};

// "puts=5000" or "puts.per_client=100", as --limit has it, into `limits`.
Result<void> set_limit(const std::string& text, Limits& limits);

// Reads the section `policy`, which this layer does not know.
using SectionReader = std::function<void(Reader&)>;

// The error holds all problems of the file, a line each: "FILE:LINE:COLUMN: limits.puts: ...". An
// empty file is a valid one. Without `read_policy` the content of `policy` is not looked at.
Result<Config> read_config(const std::string& path, const SectionReader& read_policy = {});

// The same from a text; `name` stands for the file in errors.
Result<Config> parse_config(const std::string& text, const std::string& name,
                            const SectionReader& read_policy = {});

}  // namespace ioc_exporter::app
