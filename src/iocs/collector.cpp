#include "iocs/collector.h"

#include "exposition/page.h"
#include "exposition/status_page.h"
#include "iocs/families.h"
#include "iocs/health_families.h"

namespace ioc_exporter::iocs {
namespace {

// An upper estimate of a line's length, and the lines of one IOC.
constexpr std::size_t kLineBytes = 110, kLinesOfIoc = 60;
}  // namespace

std::map<IocId, HealthSample> IocsCollector::look(const Lives& live) {
  const std::scoped_lock lock(looking_);
  for (const auto& [id, serial] : looked_at_) {
    const auto now = live.find(id);
    if (now == live.end() || now->second != serial) health_.forget(id);
  }
  looked_at_ = live;
  std::map<IocId, HealthSample> samples;
  for (const auto& [id, serial] : live)
    if (auto sample = health_.look(id, Clock::now())) samples.emplace(id, std::move(*sample));
  return samples;
}

void IocsCollector::collect(exposition::Page& page) {
  std::vector<IocFacts> iocs;
  Lives live;
  LeftOut left_out;
  {
    const std::scoped_lock lock(host_.mutex());
    iocs = host_.facts();
    left_out = host_.left_out();
    for (const auto& [id, one] : host_.live()) live.emplace(id, one.serial);
  }
  std::map<IocId, HealthSample> samples = look(live);
  std::size_t at = 0;
  for (const auto& [id, serial] : live) {  // the first of the facts, in the same order
    if (const auto sample = samples.find(id); sample != samples.end())
      iocs[at].health = std::move(sample->second);
    ++at;
  }
  page.encoder.reserve(iocs.size() * kLinesOfIoc * kLineBytes);
  const auto distinct = distinct_iocs(iocs);
  encode_iocs(distinct, page.encoder);
  encode_health(distinct, page.encoder);
  encode_left_out(left_out, page.encoder);
}

void IocsCollector::status(exposition::StatusPage& page) {
  const std::scoped_lock lock(host_.mutex());
  std::uint64_t up = 0, gone = 0;
  for (const IocFacts& ioc : host_.facts()) {
    ++(ioc.up ? up : gone);
    exposition::StatusIoc row;
    row.name = ioc.name;
    row.up = ioc.up;
    row.pid = ioc.pid;
    row.base_version = ioc.base ? ioc.base_version : "another CA server";
    row.ca_port = ioc.ca_port;
    row.problem = ioc.problem;
    if (ioc.database) row.records = ioc.database->records.size();
    if (!ioc.base) row.state = "counting puts, no EPICS Base";
    if (!ioc.contested_with.empty())
      row.notes.push_back("of user " + ioc.user + ", calls itself " + ioc.claimed_name +
                          " as one of user " + ioc.contested_with + " does or did");
    page.iocs.push_back(std::move(row));
  }
  page.facts.push_back({std::to_string(up), up == 1 ? "IOC up" : "IOCs up"});
  if (gone > 0) page.facts.push_back({std::to_string(gone), "gone", true});
  const LeftOut& left_out = host_.left_out();
  if (left_out.by_user.empty()) return;
  exposition::StatusTable table{.title = "IOCs that are not followed",
                                .note = "Others have all the places: see --ioc.users",
                                .columns = {{"user"}, {"IOCs", true}},
                                .rows = {},
                                .rest = ""};
  std::uint64_t all = 0;
  for (const auto& [user, count] : left_out.by_user) {
    all += count;
    if (table.rows.size() < LeftOut::kMostUsers)
      table.rows.push_back({user, std::to_string(count)});
  }
  if (const std::size_t users = left_out.by_user.size(); users > LeftOut::kMostUsers)
    table.rest = "and " + std::to_string(users - LeftOut::kMostUsers) + " more users";
  page.tables.push_back(std::move(table));
  page.facts.push_back({std::to_string(all), "not followed", true});
}

}  // namespace ioc_exporter::iocs
