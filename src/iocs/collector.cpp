#include "iocs/collector.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/time_text.h"
#include "exposition/page.h"
#include "exposition/status_page.h"
#include "iocs/families.h"
#include "iocs/health_families.h"
#include "iocs/ioc_list.h"

namespace ioc_exporter::iocs {
namespace {

// An upper estimate of a line's length, and the lines of one IOC.
constexpr std::size_t kLineBytes = 110, kLinesOfIoc = 60;

SeenIocs::Running running(const LiveIoc& live, Collector::TimePoint now) {
  const Ioc& ioc = live.ioc;
  return {ioc.name,
          ioc.user,
          ioc.user_name,
          ioc.goes_first,
          ioc.name == ioc.claimed_name || ioc.name == ioc.claimed_name + "-" + ioc.user_name,
          std::chrono::duration<double>(now - live.found).count()};
}

}  // namespace

IocsCollector::IocsCollector(Host& host, const Options& options)
    : host_(host),
      reserves_expected_(options.seen.first_users.leaves_some_out()),
      seen_(options.seen, host.fs()),
      health_(host.fs()) {
  seen_.open(Clock::now());
  if (options.watches_exits) exit_watch_.open();
  host_.ask_hold_changes([this] { return exit_watch_.hold_changes(); });
  reserve_names();  // before the first look
}

std::vector<ProbeState> IocsCollector::probes() const {
  const auto sample = exit_watch_.sample();
  return sample ? std::vector<ProbeState>{{ExitWatch::kProbe, exit_watch_.problem()}}
                : std::vector<ProbeState>{};
}

void IocsCollector::follow(TimePoint now) {
  ExitWatch::Live live;
  std::vector<SeenIocs::Running> all;
  for (const auto& [id, one] : host_.live()) {
    live.emplace(id, ExitWatch::Watched{one.ioc.name, one.ioc.user});
    all.push_back(running(one, now));
    // What was another user's IOC says nothing of this one.
    if (const auto last = exits_.find(one.ioc.name);
        last != exits_.end() && last->second.user != one.ioc.user)
      exits_.erase(last);
  }
  seen_.look(all, now_seconds(), now);
  for (const ExitWatch::Ended& ended : exit_watch_.follow(live, now)) {
    exits_.insert_or_assign(ended.name, Exit{ended.user, ended.exit});
    seen_.ended(ended.name, ended.user, ended.exit);
  }
  for (const std::string& name : seen_.forget_some()) host_.forget_ended(name);
  if (!exits_.empty()) {
    const auto known = host_.known_names();
    std::erase_if(exits_, [&known](const auto& exit) { return !known.contains(exit.first); });
  }
  reserve_names();
}

void IocsCollector::reserve_names() {
  std::map<std::string, NameClaim> reserved;
  if (reserves_expected_)
    for (const std::string& name : expected_)
      reserved.emplace(name, NameClaim{{}, kNoUser, "iocs.expected", false});
  for (const auto& [name, one] : seen_.seen().all())
    if (!one.up)
      reserved.insert_or_assign(name, NameClaim{{}, one.user, one.user_name, one.goes_first});
  if (reserved == reserved_) return;
  reserved_ = reserved;
  host_.reserve_names(std::move(reserved));
}

void IocsCollector::tick(TimePoint now) {
  const std::scoped_lock lock(host_.mutex());
  seen_.keep(now);
}

void IocsCollector::expect(std::vector<std::string> names) {
  const std::scoped_lock lock(host_.mutex());
  expected_ = std::move(names);
  reserve_names();
}

std::vector<IocFacts> IocsCollector::all_facts() const {
  std::vector<IocFacts> all = host_.facts();
  std::unordered_set<std::string> known;
  for (const IocFacts& facts : all) known.insert(facts.name);
  for (const auto& [name, one] : seen_.seen().all()) {
    if (one.up || known.contains(name)) continue;
    IocFacts& facts = all.emplace_back();
    facts.name = facts.claimed_name = name;
    facts.only_remembered = true;
    facts.user = one.user_name;
    facts.last_exit = one.exit;
  }
  for (IocFacts& facts : all)
    if (const auto exit = exits_.find(facts.name); exit != exits_.end())
      facts.last_exit = exit->second.exit;
  return all;
}

std::string IocsCollector::list_json() {
  const std::scoped_lock lock(host_.mutex());
  IocList list;
  const std::vector<IocFacts> facts = all_facts();
  for (const IocFacts* ioc : distinct_iocs(facts))
    list.push_back({ioc->name, ioc->user, ioc->up, ioc->start_time_seconds, ioc->contested_with,
                    std::ranges::binary_search(expected_, ioc->name)});
  return to_json(list);
}

// What is expected or was seen, and does not run.
void IocsCollector::add_missing(exposition::StatusPage& page,
                                const std::vector<IocFacts>& iocs) const {
  exposition::StatusTable table{
      .title = "IOCs that do not run",
      .note = "Until they run again, or: ioc_exporter iocs forget NAME",
      .columns = {{"IOC"}, {"user"}, {"last seen"}, {"it ended by"}, {"expected"}},
      .rows = {},
      .rest = ""};
  std::map<std::string, std::vector<std::string>> rows;
  for (const std::string& name : expected_) rows[name] = {name, "", "", "", "yes"};
  for (const auto& [name, one] : seen_.seen().all()) {
    if (one.up) continue;
    const bool is_expected = rows.contains(name);
    rows[name] = {name, one.user_name, local_time(static_cast<double>(one.last_seen)),
                  one.exit ? in_words(*one.exit) : "", is_expected ? "yes" : ""};
  }
  for (const IocFacts& ioc : iocs)
    if (ioc.up) rows.erase(ioc.name);
  constexpr std::size_t kMostRows = 100;
  for (auto& [name, row] : rows)
    if (table.rows.size() < kMostRows) table.rows.push_back(std::move(row));
  if (rows.size() > kMostRows)
    table.rest = "and " + std::to_string(rows.size() - kMostRows) + " more";
  if (!rows.empty()) {
    page.facts.push_back({std::to_string(rows.size()), "missing", true});
    page.tables.push_back(std::move(table));
  }
  if (!seen_.problem().empty()) page.notes.push_back(seen_.problem());
}

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
  std::vector<std::string> expected;
  std::optional<ProbeSample> exit_probe;
  StateSample state;
  {
    const std::scoped_lock lock(host_.mutex());
    iocs = all_facts();
    expected = expected_;
    exit_probe = exit_watch_.sample();
    state = seen_.sample();
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
  encode_expected(expected, page.encoder);
  encode_left_out(left_out, page.encoder);
  if (exit_probe) page.self.probes.push_back(std::move(*exit_probe));
  page.self.states.push_back(std::move(state));
}

void IocsCollector::status(exposition::StatusPage& page) {
  const std::scoped_lock lock(host_.mutex());
  std::uint64_t up = 0, gone = 0;
  const std::vector<IocFacts> iocs = all_facts();
  for (const IocFacts& ioc : iocs) {
    if (ioc.only_remembered) continue;
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
    if (!ioc.up && ioc.last_exit) row.state = "ended: " + in_words(*ioc.last_exit);
    if (!ioc.contested_with.empty())
      row.notes.push_back("of user " + ioc.user + ", calls itself " + ioc.claimed_name +
                          " as one of user " + ioc.contested_with + " does or did");
    page.iocs.push_back(std::move(row));
  }
  page.facts.push_back({std::to_string(up), up == 1 ? "IOC up" : "IOCs up"});
  if (gone > 0) page.facts.push_back({std::to_string(gone), "gone", true});
  add_missing(page, iocs);
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
