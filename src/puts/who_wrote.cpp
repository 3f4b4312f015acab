#include "puts/who_wrote.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "base/utf8.h"
#include "exposition/label_text.h"
#include "iocs/memory/record_names.h"
#include "puts/totals/put_families.h"

namespace ioc_exporter::puts {
namespace {

// One name only, so nothing is sorted for it: see iocs::RecordNames for many.
const RecordIdentity* find_record(const Database& database, std::string_view wire_name) {
  const std::string name = printable_utf8(wire_name, wire_name.size());
  const auto alias = std::ranges::lower_bound(database.aliases, name, {}, &RecordAlias::name);
  if (alias != database.aliases.end() && alias->name == name)
    return &database.records[alias->record];
  const auto record = std::ranges::find(database.records, name, &RecordIdentity::name);
  return record == database.records.end() ? nullptr : &*record;
}

// Names of a record in an IOC.
using Names = std::set<std::string, std::less<>>;

Names names_of(const Database& database, const RecordIdentity& record) {
  Names names{record.name};
  for (const RecordAlias& alias : database.aliases)
    if (&database.records[alias.record] == &record) names.insert(alias.name);
  return names;
}

bool leads_to(const Names& names, std::string_view pv) {
  const std::string_view record = iocs::parse_pv_name(pv).record;
  return names.contains(printable_utf8(record, record.size()));
}

}  // namespace

std::string why_puts_are_missing(bool counted, bool detached, bool complete) {
  if (!counted) return "puts are not counted: the exporter runs with --no-collector.puts";
  if (detached) return "nothing is counted: all probes are detached";
  return complete ? "" : "not all puts could be read: the exporter's log says why";
}

WhoWrote who_wrote(const std::vector<IocFacts>& iocs, const PutsSamples& samples,
                   const std::vector<PutSourceSample>& sources, std::string_view pv,
                   const WrittenByGroup& groups) {
  WhoWrote answer;
  answer.pv = pv;
  const iocs::PvName name = iocs::parse_pv_name(answer.pv);
  const Names asked{printable_utf8(name.record, name.record.size())};
  std::map<std::string_view, Names> having;  // the record
  for (const IocFacts& ioc : iocs) {
    if (!ioc.database) continue;
    const RecordIdentity* record = find_record(*ioc.database, name.record);
    if (record == nullptr) continue;
    answer.records.push_back({{ioc.name, answer.pv, record->name, std::string(name.field)}});
    having[ioc.name] = names_of(*ioc.database, *record);
  }
  const auto is_asked = [&](const PutSample& put) {
    if (put.pv == answer.pv || exposition::utf8_safe(put.pv) == answer.pv) return true;
    const auto known = having.find(put.ioc);
    const Names& names = known == having.end() ? asked : known->second;
    if (leads_to(names, put.pv)) return true;
    const auto group = put.by_pva ? groups.find({put.ioc, put.pv}) : groups.end();
    return group != groups.end() && std::ranges::any_of(group->second, [&](const auto& field) {
             return leads_to(names, field);
           });
  };
  for (const PutSample& put : samples.puts) {
    if (!put.pv.empty()) {
      if (is_asked(put)) answer.puts.push_back(put);
    } else if (having.empty() || having.contains(put.ioc)) {
      answer.unnamed_puts += put.count;
    }
  }
  // No record of an IOC whose database is known is asked for; a group of PV Access may be.
  const auto may_have = [&](const PutSourceSample& source) {
    if (!having.empty()) return having.contains(source.ioc);
    return source.protocol == name_of(Protocol::pva) ||
           std::ranges::none_of(
               iocs, [&](const IocFacts& ioc) { return ioc.name == source.ioc && ioc.database; });
  };
  for (const PutSourceSample& source : sources) {
    if (!may_have(source)) continue;
    answer.counting_since_seconds = std::max(answer.counting_since_seconds, source.since_seconds);
    if (source.since_seconds == 0)
      answer.problem =
          "ioc " + source.ioc + ": puts by " +
          (source.protocol == name_of(Protocol::pva) ? "PV Access" : "Channel Access") +
          " are not counted" + (source.why.empty() ? "" : ": " + source.why);
  }
  if (!answer.problem.empty()) answer.counting_since_seconds = 0;
  std::ranges::stable_sort(answer.puts, std::greater<>(), &PutSample::last_time_seconds);
  return answer;
}

}  // namespace ioc_exporter::puts
