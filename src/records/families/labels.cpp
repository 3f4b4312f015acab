#include "records/families/labels.h"

#include <algorithm>

namespace ioc_exporter::records {

RecordLabels::RecordLabels(const std::string& ioc, const Database* database,
                           const exposition::Encoder& encoder) {
  const auto add = [&](const exposition::Label& record) {
    bytes_ += encoder.labels({{"ioc", ioc}, record}).bytes;
    ends_.push_back(bytes_.size());
  };
  if (database != nullptr) {
    ends_.reserve(database->records.size() + 1);
    for (const RecordIdentity& record : database->records) add(record_label(record));
  }
  add({"record", ""});
  bytes_.shrink_to_fit();
}

exposition::LabelView RecordLabels::of(std::size_t record) const {
  const std::size_t index = std::min(record, records());
  const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
  return exposition::LabelView(std::string_view(bytes_).substr(begin, ends_[index] - begin));
}

std::shared_ptr<const RecordLabels> LabelCache::of(const IocSample& ioc,
                                                   const exposition::Encoder& encoder) {
  if (!ioc.database) return std::make_shared<const RecordLabels>(ioc.name, nullptr, encoder);
  const std::scoped_lock lock(mutex_);
  Entry& entry = entries_[{ioc.database.get(), encoder.label_form(), ioc.name}];
  if (entry.database.lock() != ioc.database)
    entry = {ioc.database,
             std::make_shared<const RecordLabels>(ioc.name, ioc.database.get(), encoder)};
  return entry.labels;
}

void LabelCache::drop_gone() {
  const std::scoped_lock lock(mutex_);
  std::erase_if(entries_, [](const auto& entry) { return entry.second.database.expired(); });
}

}  // namespace ioc_exporter::records
