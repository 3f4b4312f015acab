// RecordShares: how much of the tables that all IOCs share each of them holds; shared with the
// programs (bpf/records/shares.bpf.h), which take shares. Here they are given back.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"
#include "kernel/mapped_array.h"
#include "shared/record_shares.h"

namespace ioc_exporter::records {

class RecordShares {
 public:
  // The map record_shares.
  static Result<RecordShares> map(int fd, const std::string& name) {
    auto memory = kernel::MapMemory::map(fd, IOCX_SHARE_BUCKETS * sizeof(iocx_record_share), name,
                                         kernel::MapMemory::Access::write);
    if (!memory) return std::move(memory).error();
    RecordShares shares;
    shares.memory_ = std::move(*memory);
    return shares;
  }

  // An entry of the table is gone that the holder had.
  void give(iocx_record_share_of table, const iocx_holder& holder) const {
    if (holder.ioc == 0) return;
    for (const std::uint32_t bucket :
         {IOCX_SHARE_ALL, std::uint32_t{holder.ioc}, std::uint32_t{holder.user}})
      held_by(bucket, table).fetch_sub(1);
  }
  std::uint32_t held(iocx_record_share_of table, std::uint32_t bucket = IOCX_SHARE_ALL) const {
    return held_by(bucket, table).load();
  }
  bool holds_nothing(std::uint32_t bucket) const {
    for (std::uint32_t table = 0; table < IOCX_RECORD_SHARES; ++table)
      if (held_by(bucket, table).load() != 0) return false;
    return true;
  }

 private:
  // The programs' XADD and ours are the same to the processor. What an entry of old tables says is
  // no more than a number of 16 bits.
  std::atomic_ref<std::uint32_t> held_by(std::uint32_t bucket, std::uint32_t table) const {
    auto* const shares = static_cast<iocx_record_share*>(memory_.data());
    return std::atomic_ref<std::uint32_t>(shares[bucket % IOCX_SHARE_BUCKETS].held[table]);
  }

  kernel::MapMemory memory_;
};

}  // namespace ioc_exporter::records
