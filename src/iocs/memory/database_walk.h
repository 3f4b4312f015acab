// The parts of reading a database: lists, record types, field descriptions, records. For
// iocs/memory/database_reader.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "iocs/memory/base_layout.h"
#include "iocs/memory/database_reader.h"
#include "iocs/memory/memory.h"
#include "iocs/samples.h"

namespace ioc_exporter::iocs {

// Calls each(address) for every node of a list (ELLLIST). Every node must point back to the one
// before, and there must be as many as announced. `what` names the list in errors ("list of record
// types").
Result<void> walk_list(Memory& memory, const layout::EllList& list, std::int32_t most,
                       const std::string& what,
                       const std::function<Result<void>(std::uint64_t address)>& each);

// A zero-terminated string of printable characters, 1 to most - 1 bytes. `what` names it in errors.
Result<std::string> read_name(Memory& memory, std::uint64_t address, std::size_t most,
                              const std::string& what);

struct RecordType {
  std::string name;
  layout::DbRecordType raw{};
};
Result<RecordType> read_record_type(Memory& memory, std::uint64_t address);

struct CommonFields {
  FieldOffsets offsets;
  std::uint16_t rset = 0;  // of the pointer that iocInit fills in
  std::uint16_t sdis = 0;  // of a struct link
};
// From the descriptions of a type's fields; nothing while its record support has not registered.
Result<std::optional<CommonFields>> read_common_fields(Memory& memory, const RecordType& type);

// The fields that are links; none while the type's record support has not registered.
Result<std::vector<LinkField>> read_link_fields(Memory& memory, const RecordType& type);

// The fields by which a record waits before it completes; none for a type without records.
Result<std::vector<DelayField>> read_delay_fields(Memory& memory, const RecordType& type);

// A node of a record list that is an alias: addresses of its name and of its record.
struct AliasNode {
  std::uint64_t name = 0;
  std::uint64_t record = 0;
};
// Adds the addresses of a type's records (struct dbCommon *), and its aliases.
Result<void> read_records(Memory& memory, const RecordType& type, std::uint32_t type_index,
                          std::vector<RecordIdentity>& records, std::vector<AliasNode>& aliases);

// Sorts by address and reads each record's name from its first field.
Result<void> read_record_names(Memory& memory, const std::vector<std::string>& types,
                               std::vector<RecordIdentity>& records);

// The aliases, by name. `records` is sorted by address; an alias of none of them is left out: it is
// of a record that is being made or deleted.
Result<std::vector<RecordAlias>> read_alias_names(Memory& memory, std::vector<AliasNode> aliases,
                                                  const std::vector<RecordIdentity>& records);

}  // namespace ioc_exporter::iocs
