// Last writers of a PV: the answer of GET /api/v1/who-wrote?pv=NAME, as JSON. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iocs/samples.h"
#include "puts/totals/samples.h"

namespace ioc_exporter::puts {

inline constexpr const char* kWhoWrotePath = "/api/v1/who-wrote";

// A record of the name that was asked for; `pv` as asked.
struct AskedRecord : PvSample {
  // All writes to it, as the record's own counts have them, by iocx_put_source_labels; nothing: not
  // known.
  std::optional<std::map<std::string, std::uint64_t>> writes = {};
};

// By IOC and group of PV Access: fields that puts to it wrote.
using WrittenByGroup = std::map<std::pair<std::string, std::string>, std::set<std::string>>;

struct WhoWrote {
  std::string pv;                    // as asked
  std::vector<AskedRecord> records;  // in each IOC
  std::vector<PutSample> puts;       // one for each PV name, client and operation; the latest first
  // Puts, to the IOCs in `records` (or to all), on channels whose name is not known: some may have
  // been to this PV.
  std::uint64_t unnamed_puts = 0;
  double counting_since_seconds = 0;  // without a gap, time of day; 0: not known
  std::string put_log_file;           // that has earlier ones; "" = none is known
  std::string problem;                // why puts may be missing; "" = none are
};

// The puts to the PV as it was asked, and to every other name (field, modifier, alias, group) of
// the same record of the same IOC. `sources`: of the running IOCs. `writes` and `put_log_file` are
// left to the caller.
WhoWrote who_wrote(const std::vector<IocFacts>& iocs, const PutsSamples& samples,
                   const std::vector<PutSourceSample>& sources, std::string_view pv,
                   const WrittenByGroup& groups = {});

// WhoWrote::problem: `counted`: puts are counted at all; `detached`: all probes are; `complete`:
// all could be read.
std::string why_puts_are_missing(bool counted, bool detached, bool complete);

// JSON object. Texts are as the labels on /metrics: what is no UTF-8 stands as \xNN.
std::string to_json(const WhoWrote& answer);

}  // namespace ioc_exporter::puts
