// The database of a running IOC, read from its memory: record names, types, field offsets.
//
// Layout: iocs/memory/base_layout.h. Nothing that is read is trusted: the IOC runs on while it is
// read, and may be broken. What does not fit together is an error in words, and the caller tries
// again later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "iocs/memory/base_layout.h"
#include "iocs/memory/memory.h"
#include "iocs/samples.h"

namespace ioc_exporter::iocs {

// Offsets in bytes within struct dbCommon, the same for all records of the IOC.
struct FieldOffsets {
  std::uint16_t pact = 0;  // epicsUInt8
  std::uint16_t disa = 0;  // epicsInt16
  std::uint16_t disv = 0;  // epicsInt16
  std::uint16_t stat = 0;  // epicsEnum16
  std::uint16_t sevr = 0;  // epicsEnum16
  std::uint16_t disp = 0;  // epicsUInt8
  std::uint16_t putf = 0;  // epicsUInt8
  std::uint16_t rpro = 0;  // epicsUInt8
  std::uint16_t lcnt = 0;  // epicsUInt8 (char in 3.14): calls since it became active, at most 10
  std::uint16_t ppn = 0;   // struct processNotify * (putNotify * in 3.14)
  std::uint16_t time = 0;  // epicsTimeStamp: two epicsUInt32
  std::uint16_t scan = 0;  // epicsEnum16; 0: not known
  // SDIS, a struct link, once iocInit has run and only when links are seen to be laid out as in
  // link.h since Base 3.16.1: the owning record's address at 0, a short `type` at 8. (Before,
  // `type` stood behind a union whose size differs between versions.)
  std::optional<std::uint16_t> sdis;
};

struct DatabaseReading {
  // Null: not loaded yet (pdbbase is null, there are no record types, or no record support has
  // registered). Not an error.
  std::shared_ptr<const Database> database;
  FieldOffsets offsets;  // valid when `database` is there
  // iocInit has come by every record (its RSET is set): no more are loaded. False while the
  // database is being loaded, or holds no record: read it again later.
  bool initialized = false;

  bool ready() const { return database != nullptr; }
};

// `pdbbase`: addresses at which the variable pdbbase may live; the first that leads to a database
// wins. `subject` names the IOC in errors ("ioc X (pid 8)").
Result<DatabaseReading> read_database(Memory& memory, std::span<const std::uint64_t> pdbbase,
                                      std::string_view subject);

// The periods of an IOC's periodic scans, from the choices of its menuScan: known as soon as its
// database definitions are loaded. Nothing that is read is trusted.

// More than any IOC has; what is beyond is left out.
inline constexpr std::size_t kMostScanPeriods = 32;

// In seconds, "0.1", as spawnPeriodic() in dbScan.c names a scan's thread. Empty when there is no
// menuScan that can be read.
std::vector<std::string> read_scan_periods(Memory& memory, const layout::EllList& menus);

// Of one choice that is the `number`th periodic one: initPeriodic() in dbScan.c gives a choice that
// it does not understand its number as period.
std::string scan_period_text(std::string_view choice, std::size_t number);

}  // namespace ioc_exporter::iocs
