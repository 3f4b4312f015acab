// The part of IocWatch that turns what is known of the IOCs into samples for a page.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "app/ioc_watch.h"

namespace ioc_exporter::app {

IocSample IocWatch::describe(const Live& live) const {
  IocSample sample;
  sample.name = live.ioc.name;
  sample.up = true;
  sample.base = live.ioc.kind == iocs::IocKind::base;
  sample.pid = live.ioc.id.pid;
  sample.start_time_seconds = live.ioc.start_time_seconds;
  sample.base_version = live.ioc.base_version;
  sample.executable = live.ioc.executable;
  sample.ca_port = live.ca_port;
  for (const auto& socket : live.ioc.listening)
    if (std::find(sample.tcp_ports.begin(), sample.tcp_ports.end(), socket.port) ==
        sample.tcp_ports.end())
      sample.tcp_ports.push_back(socket.port);
  sample.records_attached = live.slot.has_value();
  sample.problem = live.problem;
  if (sample.problem.empty() && !live.ioc.held.empty())
    sample.problem = "left alone: " + live.ioc.held;
  if (sample.problem.empty() && records_ == nullptr && sample.base)
    sample.problem = why_no_records_;
  const auto network = network_problems_.find(live.ioc.net_namespace);
  if (sample.problem.empty() && network != network_problems_.end())
    sample.problem = "puts to it are not counted: " + network->second;
  sample.database = live.database;
  sample.restarts = restarts_.at(live.ioc.name);
  sample.notes = live.notes;
  return sample;
}

void IocWatch::add_records(const Live& live, const records::RecordCauses* causes, Page& page) {
  if (!live.slot) return;
  IocSample& sample = page.iocs.back();
  auto counts = records_->counts_of(*live.slot);
  if (!counts) {
    page.complete = false;
    spdlog::warn("read the record counts of {}: {}", subject_of(live.ioc),
                 counts.error().message());
    return;
  }
  page.pending.push_back({page.iocs.size() - 1, live.ioc.id, subject_of(live.ioc),
                          std::move(*counts), guard_->hidden(*live.slot)});
  sample.overhead = guard_->sample(*live.slot);
  if (sample.overhead && sample.overhead->attached_share == 0) sample.records_attached = false;
  if (auto added = extras_.add_to(sample, *live.slot); !added) {
    page.complete = false;
    spdlog::warn("{}", added.error().message());
  }
  if (causes != nullptr) causes->add_to(*live.slot, sample);
}

std::optional<records::RecordCauses> IocWatch::read_causes(Page& page) {
  if (records_ == nullptr) return std::nullopt;
  auto read = records::RecordCauses::read(*records_);
  if (read) return std::move(*read);
  page.complete = false;
  spdlog::warn("read the causes of processings: {}", read.error().message());
  return std::nullopt;
}

IocWatch::Page IocWatch::begin_page() {
  Page page;
  const auto now = Clock::now();
  // Before the counts by record, which these are parts of.
  if (auto followed = extras_.begin_page(watched()); !followed) {
    page.complete = false;
    spdlog::warn("{}", followed.error().message());
  }
  const std::optional<records::RecordCauses> causes = read_causes(page);
  for (auto& [id, live] : live_) {
    page.iocs.push_back(describe(live));
    page.iocs.back().health = health_.look(id, now);
    add_records(live, causes ? &*causes : nullptr, page);
  }
  for (const auto& [name, gone] : gone_) page.iocs.push_back(gone.sample);
  return page;
}

void IocWatch::read_records(Page& page) {
  for (records::PendingRecords& pending : page.pending) {
    IocSample& sample = page.iocs[pending.index];
    auto read = pending.read(*sample.database);
    if (!read) {
      page.complete = false;
      spdlog::warn("read the record counts of {}: {}", pending.subject, read.error().message());
      continue;
    }
    sample.records = std::move(*read);
    page.records += sample.records.size();
  }
}

// Records that the database does not have: it is read again at the next read_due().
void IocWatch::end_page(const Page& page) {
  for (const records::PendingRecords& pending : page.pending)
    if (const auto live = live_.find(pending.id); pending.any_unknown && live != live_.end())
      live->second.unknown_records = true;
}

}  // namespace ioc_exporter::app
