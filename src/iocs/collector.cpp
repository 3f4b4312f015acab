#include "iocs/collector.h"

#include <algorithm>

#include "base/time_text.h"
#include "exposition/page.h"
#include "exposition/status_page.h"
#include "iocs/families.h"

namespace ioc_exporter::iocs {
namespace {

// An upper estimate of a line's length, and the lines of one IOC.
constexpr std::size_t kLineBytes = 110, kLinesOfIoc = 60;

}  // namespace

IocsCollector::IocsCollector(Host& host, ExitWatch& exit_watch)
    : host_(host), exit_watch_(exit_watch), view_(host.view()), health_(host.fs()) {}

std::vector<ProbeState> IocsCollector::probes() const {
  const auto sample = exit_watch_.sample();
  return sample ? std::vector<ProbeState>{{ExitWatch::kProbe, exit_watch_.problem()}}
                : std::vector<ProbeState>{};
}

void IocsCollector::follow(TimePoint now) {
  const std::scoped_lock lock(mutex_);
  view_ = host_.view();
  ExitWatch::Live live;
  for (const auto& [id, one] : view_->live()) {
    live.emplace(id, ExitWatch::Watched{one.ioc.name, one.ioc.user});
    // State of another user's IOC says nothing of this one.
    if (const auto last = exits_.find(one.ioc.name);
        last != exits_.end() && last->second.user != one.ioc.user)
      exits_.erase(last);
  }
  for (const ExitWatch::Ended& ended : exit_watch_.follow(live, now))
    exits_.insert_or_assign(ended.name, Exit{ended.user, ended.exit});
  std::erase_if(exits_, [this](const auto& exit) { return !view_->knows(exit.first); });
}

void IocsCollector::expect(std::vector<std::string> names) {
  const std::scoped_lock lock(mutex_);
  expected_ = std::move(names);
}

std::vector<IocFacts> IocsCollector::all_facts() const {
  std::vector<IocFacts> all = view_->facts();
  for (IocFacts& facts : all)
    if (const auto exit = exits_.find(facts.name); exit != exits_.end())
      facts.last_exit = exit->second.exit;
  return all;
}

IocList IocsCollector::list() {
  const std::scoped_lock lock(mutex_);
  IocList list;
  const std::vector<IocFacts> facts = all_facts();
  for (const IocFacts* ioc : distinct_iocs(facts))
    list.push_back({ioc->name, ioc->user, ioc->up, ioc->start_time_seconds, ioc->contested_with,
                    std::ranges::binary_search(expected_, ioc->name)});
  return list;
}

// Expected or former IOCs that do not run.
void IocsCollector::add_missing(exposition::StatusPage& page,
                                const std::vector<IocFacts>& iocs) const {
  exposition::StatusTable table{
      .title = "IOCs that do not run",
      .note = "Until they run again, or for --ioc.keep-gone",
      .columns = {{"IOC"}, {"user"}, {"last seen"}, {"how it ended"}, {"expected"}},
      .rows = {},
      .more = ""};
  std::map<std::string, std::vector<std::string>> rows;
  for (const std::string& name : expected_) rows[name] = {name, "", "", "", "yes"};
  for (const IocFacts& ioc : iocs)
    if (!ioc.up)
      rows[ioc.name] = {ioc.name, ioc.user, local_time(ioc.end_time_seconds),
                        ioc.last_exit ? in_words(*ioc.last_exit) : "",
                        rows.contains(ioc.name) ? "yes" : ""};
  for (const IocFacts& ioc : iocs)
    if (ioc.up) rows.erase(ioc.name);
  // One that somebody stopped and that nobody expects is no problem.
  const auto missing = std::ranges::count_if(rows, [](const auto& one) {
    const std::string &how = one.second[3], &expected = one.second[4];
    return !expected.empty() || (how != "SIGTERM" && how != "exit status 0");
  });
  constexpr std::size_t kMostRows = 100;
  for (auto& [name, row] : rows)
    if (table.rows.size() < kMostRows) table.rows.push_back(std::move(row));
  if (rows.size() > kMostRows)
    table.more = "and " + std::to_string(rows.size() - kMostRows) + " more";
  if (missing > 0) page.facts.push_back({std::to_string(missing), "missing", true});
  page.tables.push_back(std::move(table));
}

IocsCollector::Lives IocsCollector::lives() const {
  Lives live;
  for (const auto& [id, one] : view_->live()) live.emplace(id, one.serial);
  return live;
}

std::map<IocId, HealthSample> IocsCollector::read_health(const Lives& live) {
  for (const auto& [id, serial] : read_) {
    const auto now = live.find(id);
    if (now == live.end())
      health_.forget(id);
    else if (now->second != serial)
      health_.begin_anew(id);
  }
  const Lives before = std::exchange(read_, live);
  std::map<IocId, HealthSample> samples;
  for (const auto& [id, serial] : live) {
    const auto read = [this, id = id] {
      return health_.read(id, Clock::now(), [&] { return exit_watch_.exited_cpu(id); });
    };
    // CPU time from before the first scan has no known class: classes count from here on.
    if (!before.contains(id) && read()) health_.begin_anew(id);
    if (auto sample = read()) {
      samples.emplace(id, std::move(*sample));
    } else {
      health_.forget(id);
      read_.erase(id);
    }
  }
  return samples;
}

void IocsCollector::collect(exposition::Page& page) {
  std::vector<IocFacts> iocs;
  Lives live;
  std::uint64_t left_out = 0;
  std::vector<std::string> expected;
  std::optional<ProbeSample> exit_probe;
  {
    const std::scoped_lock lock(mutex_);
    iocs = all_facts();
    expected = expected_;
    exit_probe = exit_watch_.sample();
    left_out = view_->left_out();
    live = lives();
  }
  std::map<IocId, HealthSample> samples;
  {
    const std::scoped_lock lock(health_mutex_);
    samples = read_health(live);
  }
  std::size_t at = 0;
  for (const auto& [id, serial] : live) {  // the first of the facts, in the same order
    if (const auto sample = samples.find(id); sample != samples.end())
      iocs[at].health = std::move(sample->second);
    ++at;
  }
  page.encoder.reserve(iocs.size() * kLinesOfIoc * kLineBytes);
  const auto distinct = distinct_iocs(iocs);
  encode_iocs(distinct, page.encoder);
  encode_expected(expected, page.encoder);
  encode_left_out(left_out, page.encoder);
  if (exit_probe) page.self.probes.push_back(std::move(*exit_probe));
}

void IocsCollector::status(exposition::StatusPage& page) {
  const std::scoped_lock lock(mutex_);
  std::uint64_t up = 0;
  const std::vector<IocFacts> iocs = all_facts();
  page.ioc_columns = {{"pid", true}, {"EPICS Base"}, {"CA port", true}, {"records", true}};
  for (const IocFacts& ioc : iocs) {
    if (ioc.only_up) continue;
    up += ioc.up ? 1u : 0u;
    exposition::StatusIoc row;
    row.name = ioc.name;
    row.up = ioc.up;
    // The number of one that is gone may be another process' by now.
    if (ioc.up) row.cells["pid"] = std::to_string(ioc.pid);
    row.cells["EPICS Base"] = ioc.base        ? ioc.base_version
                              : ioc.gateway   ? (ioc.other_pva ? "a PVA gateway" : "a CA gateway")
                              : ioc.other_pva ? "another PVA server"
                                              : "another CA server";
    if (ioc.ca_port) row.cells["CA port"] = std::to_string(*ioc.ca_port);
    if (ioc.database) row.cells["records"] = std::to_string(ioc.database->records.size());
    row.problem = ioc.problem;
    if (!ioc.base) row.state = "counting puts, no EPICS Base";
    if (!ioc.up && ioc.last_exit) row.state = "ended: " + in_words(*ioc.last_exit);
    if (ioc.up && ioc.restarts > 0)
      row.notes.push_back("restarted " + std::to_string(ioc.restarts) + " times" +
                          (ioc.restarted_by_supervisor ? ", last by " + ioc.supervisor.name : ""));
    if (!ioc.contested_with.empty())
      row.notes.push_back("of user " + ioc.user + ", claims the name " + ioc.claimed_name +
                          ", which an IOC of user " + ioc.contested_with + " has or had");
    page.iocs.push_back(std::move(row));
  }
  page.facts.push_back({std::to_string(up), up == 1 ? "IOC up" : "IOCs up"});
  add_missing(page, iocs);
  if (const std::uint64_t left_out = view_->left_out(); left_out > 0)
    page.facts.push_back({std::to_string(left_out), "not followed: all places are taken", true});
}

}  // namespace ioc_exporter::iocs
