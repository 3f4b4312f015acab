// StatusPage: content of the page at "/" and of --check. Collectors add their parts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "exposition/self_samples.h"

namespace ioc_exporter::exposition {

struct StatusLink {
  std::string path;
  std::string text;
  std::string description;
};
struct StatusIoc {
  std::string name;
  bool up = false;
  std::string state = {};                         // "counting records"; "" = up, or gone
  std::map<std::string, std::string> cells = {};  // by titles of StatusPage::ioc_columns
  std::string problem = {};                       // "" = all is well
  std::vector<std::string> notes = {};            // under the IOC
};
// Headline: a number, and its meaning.
struct StatusFact {
  std::string value;
  std::string what;
  bool bad = false;
};
// Any other section of the page.
struct StatusTable {
  struct Column {
    std::string title;
    bool number = false;   // aligned to the right
    bool problem = false;  // what stands in it is red
  };
  std::string title;
  std::string note;  // under the title; "" = none
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // as many cells as columns; none: no section
  std::string more;                            // under the table: "and 12 more"; "" = none
};
struct StatusProbe {
  std::string name;
  bool ok = false;
  std::string state;         // "3 attachments"
  std::string problem = {};  // why it is not loaded
};
// The exporter whose page it is.
struct Origin {
  std::string host;
  double start_time_seconds = 0;  // 0: not known
};
// "ctl-7, since 2026-11-21 09:07".
std::string origin_text(const Origin& origin);

struct StatusPage {
  std::string name;
  std::string version;
  Origin origin = {};
  std::string description;
  std::vector<StatusLink> links;
  std::vector<StatusIoc> iocs;
  std::vector<StatusTable::Column> ioc_columns = {};    // between state and problem
  std::vector<StatusTable> tables, kernel_tables = {};  // kernel_tables: on a page of their own
  std::vector<StatusProbe> probes;
  std::vector<std::string> notes = {};  // "12 puts whose PV name is not known"
  std::vector<StatusFact> facts = {};   // at the top

  // Counts were read for the first time: rates need a second reading, Rates::kShortest later.
  bool rates_due = false;

  SelfSamples self = {};  // of the collectors; app/status.h makes rows of them

  // The row of that IOC; null when there is none.
  StatusIoc* find_ioc(const std::string& ioc);
};

// All tables of the page: IOCs, `tables`, probes that are not loaded.
std::vector<StatusTable> all_tables(const StatusPage& page);
StatusTable iocs_table(const StatusPage& page);
StatusTable probes_table(const std::vector<StatusProbe>& probes);
// `notes`, and those of IOCs.
std::vector<std::string> all_notes(const StatusPage& page);
// The rows for a terminal, heads in capitals; "" where there are none.
std::string table_text(const StatusTable& table);

// "1 put", "2 puts".
std::string plural(std::uint64_t count, const std::string& one);
// Three figures are as many as one reads: "0", "0.25", "17.3", "4210".
std::string rate_text(double rate);
// "12 s ago"; "" for a time that is not known (0). Both are times of day in seconds.
std::string ago_text(double time, double now);

}  // namespace ioc_exporter::exposition
