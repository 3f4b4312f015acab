// The label that names a record, or the group in whose place it is shown.
#pragma once

#include <cstdint>
#include <string_view>

#include "exposition/encoder.h"
#include "records/families/samples.h"

namespace ioc_exporter::records {

inline exposition::Label record_label(const RecordIdentity& record) {
  return {record.group ? "record_group" : "record", record.name};
}

// record="" where the name is not known.
inline exposition::Label record_label(const IocSample& ioc, std::uint32_t record) {
  if (!ioc.database || record >= ioc.database->records.size()) return {"record", ""};
  return record_label(ioc.database->records[record]);
}

// Of the record that made another one process.
inline exposition::Label source_label(const IocSample& ioc, std::uint32_t record) {
  const exposition::Label label = record_label(ioc, record);
  return {label.name == "record" ? "source_record" : "source_record_group", label.value};
}

}  // namespace ioc_exporter::records
