// PendingRecords: one IOC whose records' counts are still to be read, for a page.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "iocs/ioc_id.h"
#include "records/families/samples.h"
#include "records/families/samples_by_record.h"
#include "records/probe/counts.h"

namespace ioc_exporter::records {

struct PendingRecords {
  std::size_t index = 0;  // of its sample on the page
  iocs::IocId id;
  std::string subject;  // for the log
  RecordCounts counts;
  bool any_unknown = false;  // after read(): addresses that the database does not have

  // Needs no lock.
  Result<std::vector<RecordSample>> read(const Database& database) {
    RecordSamples samples(database);
    auto done = counts.for_each([&samples](std::uint64_t address, const iocx_record_stats& stats) {
      samples.add(address, stats);
    });
    if (!done) return done.error();
    any_unknown = samples.any_unknown();
    return samples.take();
  }
};

}  // namespace ioc_exporter::records
