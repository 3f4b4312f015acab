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
  {
    const std::scoped_lock lock(host_.mutex());
    iocs = host_.facts();
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
    page.iocs.push_back(std::move(row));
  }
  page.facts.push_back({std::to_string(up), up == 1 ? "IOC up" : "IOCs up"});
  if (gone > 0) page.facts.push_back({std::to_string(gone), "gone", true});
}

}  // namespace ioc_exporter::iocs
