// The load of the scrape benchmark: an IOC with many records, each with a full histogram, counted
// in a BPF map like the real one.
#pragma once

#include <bpf/bpf.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "exposition/histogram_edges.h"
#include "records/probe/counts.h"
#include "records/probe/process_object.h"
#include "support/snapshot.h"

namespace scrape_bench {

using namespace ioc_exporter;

[[noreturn]] inline void fail(const std::string& why) {
  std::fprintf(stderr, "scrape: %s\n", why.c_str());
  std::exit(1);
}

inline std::uint64_t address_of(std::size_t record) {
  return 0x7f0000000000 + record * 0x400;
}

inline std::shared_ptr<const Database> make_database(std::size_t records) {
  auto database = std::make_shared<Database>();
  database->types = {"ai", "ao", "calc", "bo"};
  for (std::size_t i = 0; i < records; ++i) {
    char name[64];
    std::snprintf(name, sizeof name, "SR:C%02zu-MG:PS{QH%zu}I-SP", i % 30, i);
    database->records.push_back({address_of(i), name, static_cast<std::uint32_t>(i % 4)});
  }
  return database;
}

inline iocx_record_stats make_stats(std::size_t record) {
  iocx_record_stats stats{};
  for (int i = 0; i < 24; ++i)
    stats.buckets[static_cast<std::size_t>(10 + i * 3)] =
        (record * 7919 + static_cast<std::size_t>(i) * 104729) % 100'000;
  for (const std::uint64_t bucket : stats.buckets) stats.processed += bucket;
  stats.sum_ns = stats.processed * 12'347;
  stats.self_ns = stats.processed * 9'973;
  stats.puts[IOCX_PUT_LINK] = 0;
  return stats;
}

inline records::RecordCounts make_counts(std::size_t records) {
  UniqueFd fd(::bpf_map_create(BPF_MAP_TYPE_HASH, "scrape_bench", sizeof(std::uint64_t),
                               sizeof(iocx_record_stats), static_cast<std::uint32_t>(records),
                               nullptr));
  if (!fd) fail("make a BPF map: run it as root");
  auto view = records::RecordsMap::from_fd(fd.get());
  if (!view) fail(view.error().message());
  for (std::size_t i = 0; i < records; ++i)
    if (auto ok = view->update(address_of(i), make_stats(i)); !ok) fail(ok.error().message());
  return {std::make_shared<const records::OwnedRecordsMap>(
              records::OwnedRecordsMap{std::move(fd), std::move(*view)}),
          nullptr,
          {}};
}

// The result of Daemon::snapshot() for these records, read from the map.
inline Snapshot read_snapshot(const records::RecordCounts& counts,
                              const std::shared_ptr<const Database>& database) {
  Snapshot snapshot;
  IocSample& ioc = snapshot.iocs.emplace_back();
  ioc.name = "bench";
  ioc.up = true;
  ioc.database = database;
  records::PendingRecords pending{0, "bench", counts, {}};
  auto records = pending.read(*database);
  if (!records) fail(records.error().message());
  ioc.records = std::move(*records);
  return snapshot;
}

}  // namespace scrape_bench
