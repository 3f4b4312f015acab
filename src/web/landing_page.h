// The page at "/": what runs, which IOCs are seen, where the metrics are. HTML without scripts and
// without anything from elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ioc_exporter::web {

struct LandingLink {
  std::string path;
  std::string text;
  std::string description;
};
struct LandingIoc {
  std::string name;
  bool up = false;
  std::int32_t pid = 0;
  std::string base_version;  // "" = not known
  std::optional<std::uint16_t> ca_port;
  std::optional<std::size_t> records;  // none while the database is not read
  std::optional<std::uint64_t> circuits,
      channels;                         // of CA clients; none while they are not counted
  std::string problem;                  // "" = all is well
  std::vector<std::string> notes = {};  // under the IOC
  // Per second, now; none while they are not counted, or not for long enough.
  std::optional<double> processed_rate = {}, put_rate = {};
  std::optional<double> cost = {};  // of its probes, as a fraction of a core
};
// What one sees first: a number, and what it counts.
struct LandingFact {
  std::string value;
  std::string what;
  bool bad = false;
};
// Any other section of the page.
struct LandingTable {
  struct Column {
    std::string title;
    bool number = false;  // aligned to the right
  };
  std::string title;
  std::string note;  // under the title; "" = none
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // as many cells as columns; none: no section
  std::string rest;                            // under the table: "and 12 more"; "" = none
};
struct LandingProbe {
  std::string name;
  bool ok = false;
  std::string state;  // "attached to 3 libraries"
};
struct LandingPage {
  std::string name;
  std::string version;
  std::string description;
  std::vector<LandingLink> links;
  std::vector<LandingIoc> iocs;
  std::vector<LandingTable> tables;
  std::vector<LandingProbe> probes;
  std::vector<std::string> notes = {};  // "12 puts whose PV name is not known"
  std::vector<LandingFact> facts = {};  // at the top
};

inline constexpr const char* kHtmlContentType = "text/html; charset=utf-8";

// All texts are escaped; any bytes are safe in them.
std::string render_landing_page(const LandingPage& page);

}  // namespace ioc_exporter::web
