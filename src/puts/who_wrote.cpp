#include "puts/who_wrote.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/utf8.h"
#include "exposition/label_text.h"
#include "iocs/memory/record_names.h"

namespace ioc_exporter::ca {
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

// The record that a name leads to in an IOC; where that is not known, its record part.
class Records {
 public:
  Records(const CaSamples& samples, const WhoWrote& asked)
      : asked_part_(iocs::parse_pv_name(asked.pv).record) {
    for (const PvSample& pv : samples.pvs) known_[{pv.ioc, pv.pv}] = pv.record;
    for (const PvSample& pv : asked.records) asked_[pv.ioc] = pv.record;
  }

  bool same(const PutSample& put) const {
    const auto asked = asked_.find(put.ioc);
    const auto known = known_.find({put.ioc, put.pv});
    const std::string_view wanted = asked == asked_.end() ? asked_part_ : asked->second;
    return wanted == (known == known_.end() ? iocs::parse_pv_name(put.pv).record : known->second);
  }

 private:
  using View = std::string_view;  // into the samples and the answer
  View asked_part_;
  std::map<std::pair<View, View>, View> known_;
  std::map<View, View> asked_;
};

}  // namespace

std::string why_puts_are_missing(bool counted, bool complete) {
  if (!counted) return "puts are not counted: the exporter runs with --no-collector.puts";
  return complete ? "" : "not all puts could be read: the exporter's log says why";
}

WhoWrote who_wrote(const std::vector<IocFacts>& iocs, const CaSamples& samples,
                   std::string_view pv) {
  WhoWrote answer;
  answer.pv = pv;
  const iocs::PvName name = iocs::parse_pv_name(answer.pv);
  std::set<std::string_view> having;  // the record
  for (const IocFacts& ioc : iocs) {
    if (!ioc.database) continue;
    const RecordIdentity* record = find_record(*ioc.database, name.record);
    if (record == nullptr) continue;
    answer.records.push_back({ioc.name, answer.pv, record->name, std::string(name.field)});
    having.insert(ioc.name);
  }
  const Records records(samples, answer);
  for (const PutSample& put : samples.puts) {
    if (put.pv.empty()) {
      if (having.empty() || having.contains(put.ioc)) answer.unnamed_puts += put.count;
    } else if (put.pv == answer.pv || exposition::utf8_safe(put.pv) == answer.pv ||
               records.same(put)) {
      answer.puts.push_back({put});
    }
  }
  std::ranges::stable_sort(answer.puts, std::greater<>(), &PutSample::last_time_seconds);
  return answer;
}

void add_who_wrote(WhoWrote& answer, WhoWrote more) {
  std::ranges::move(more.puts, std::back_inserter(answer.puts));
  std::ranges::stable_sort(answer.puts, std::greater<>(), &PutSample::last_time_seconds);
  answer.unnamed_puts += more.unnamed_puts;
}

void add_exporter(WhoWrote& site, const std::string& exporter, WhoWrote answer) {
  for (Writer& put : answer.puts) put.exporter = exporter;
  if (answer.records.empty() && !site.records.empty()) answer.unnamed_puts = 0;
  if (!answer.records.empty() && site.records.empty()) site.unnamed_puts = 0;
  std::ranges::move(answer.records, std::back_inserter(site.records));
  site.counting_since_seconds =
      std::max(site.counting_since_seconds, answer.counting_since_seconds);
  if (!answer.problem.empty())
    site.problem += (site.problem.empty() ? "" : "; ") + exporter + ": " + answer.problem;
  add_who_wrote(site, std::move(answer));
}

}  // namespace ioc_exporter::ca
