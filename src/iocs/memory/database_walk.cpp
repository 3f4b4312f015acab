#include "iocs/memory/database_walk.h"

#include <algorithm>
#include <cstring>

#include "base/utf8.h"

namespace ioc_exporter::iocs {
namespace {

constexpr std::int32_t kMostRecordsOfType = 2'000'000;
constexpr std::int16_t kMostFields = 4096;
constexpr std::size_t kLongestTypeName = 128;
constexpr std::size_t kLongestAlias = 256;  // Base sets no limit to it; to records it does

// The struct at an address that must look like one.
template <class T>
Result<T> read_struct(Memory& memory, std::uint64_t address, const std::string& what) {
  if (!is_pointer(address))
    return error_in_words(what + ": " + hex_address(address) + " is no pointer");
  auto value = memory.value<T>(address);
  if (!value) return error_in_words(what + ": " + value.error().message());
  return value;
}

// A common field, its bytes, and where its offset goes.
struct WantedField {
  std::string_view name;
  std::int16_t size;
  std::uint16_t* offset;
  bool needed = true;
};
constexpr std::int16_t kAnySize = 0;

std::array<WantedField, 14> wanted_fields(CommonFields& fields) {
  FieldOffsets& at = fields.offsets;
  return {{{"PACT", 1, &at.pact},
           {"DISA", 2, &at.disa},
           {"DISV", 2, &at.disv},
           {"STAT", 2, &at.stat},
           {"SEVR", 2, &at.sevr},
           {"DISP", 1, &at.disp},
           {"PUTF", 1, &at.putf},
           {"RPRO", 1, &at.rpro},
           {"LCNT", 1, &at.lcnt},
           {"PPN", 8, &at.ppn},
           {"TIME", 8, &at.time},
           {"SCAN", 2, &at.scan, false},
           {"RSET", 8, &fields.rset},
           {"SDIS", kAnySize, &fields.sdis}}};
}

struct DescribedField {
  layout::DbFldDes raw;
  std::string name;
};

Result<DescribedField> read_field(Memory& memory, const RecordType& type, std::int16_t index,
                                  const std::string& what) {
  const auto pointer = read_struct<std::uint64_t>(
      memory, type.raw.fld_des + 8u * static_cast<unsigned>(index), what);
  if (!pointer) return pointer.error();
  const auto raw = read_struct<layout::DbFldDes>(memory, *pointer, what);
  if (!raw) return raw.error();
  auto name = read_name(memory, raw->name, 64, what);
  if (!name) return std::move(name).error();
  return DescribedField{*raw, std::move(*name)};
}

// ODLY of calcout and the like; DLY0 to DLYF of seq.
bool is_delay(std::string_view name, std::int16_t size) {
  const bool named = name == "ODLY" || (name.starts_with("DLY") && name.size() <= 4);
  return named && (size == sizeof(double) || size == sizeof(float));
}

std::string announced(const std::string& what, std::int32_t walked, std::int32_t count) {
  return what + ": " + std::to_string(walked) + " nodes walked, " + std::to_string(count) +
         " announced";
}

}  // namespace

Result<void> walk_list(Memory& memory, const layout::EllList& list, std::int32_t most,
                       const std::string& what,
                       const std::function<Result<void>(std::uint64_t address)>& each) {
  if (list.count < 0 || list.count > most)
    return error_in_words(what + ": " + std::to_string(list.count) + " nodes announced");
  std::int32_t walked = 0;
  std::uint64_t previous = 0;
  for (std::uint64_t at = list.first; at != 0; ++walked) {
    // One more than announced is enough to know; a circle ends here as well.
    if (walked == list.count) return error_in_words(announced(what, walked + 1, list.count));
    const auto node = read_struct<layout::EllNode>(memory, at, what);
    if (!node) return node.error();
    if (node->previous != previous)
      return error_in_words(what + ": node " + std::to_string(walked) +
                            " does not point back to the one before");
    auto done = each(at);
    if (!done) return done;
    previous = at;
    at = node->next;
  }
  if (walked != list.count) return error_in_words(announced(what, walked, list.count));
  return {};
}

Result<std::string> read_name(Memory& memory, std::uint64_t address, std::size_t most,
                              const std::string& what) {
  std::array<char, 256> text{};
  most = std::min(most, text.size());
  std::size_t size = 0;
  // The string may stand at the end of what is mapped: read on only as long as it does not end.
  while (size < most && std::memchr(text.data(), 0, size) == nullptr) {
    auto got = memory.read_some(address + size,
                                std::as_writable_bytes(std::span(text).subspan(size, most - size)));
    if (!got) return error_in_words(what + ": " + got.error().message());
    size += *got;
  }
  const std::string_view bytes(text.data(), size);
  const auto end = bytes.find('\0');
  if (end == std::string_view::npos)
    return error_in_words(what + " at " + hex_address(address) + ": longer than " +
                          std::to_string(most - 1) + " bytes");
  if (end == 0) return error_in_words(what + " at " + hex_address(address) + ": empty");
  const std::string_view name = bytes.substr(0, end);
  const auto printable = [](unsigned char c) { return c >= 0x20 && c != 0x7F; };
  if (!std::ranges::all_of(name, printable))
    return error_in_words(what + " at " + hex_address(address) + ": not printable");
  // Some sites' names are Latin-1: those bytes become '_', since a label must be UTF-8. So does a
  // name of spaces, which would be none.
  std::string shown = printable_utf8(name, name.size());
  if (shown.empty()) shown = "_";
  return shown;
}

Result<RecordType> read_record_type(Memory& memory, std::uint64_t address) {
  auto raw = read_struct<layout::DbRecordType>(memory, address, "record type");
  if (!raw) return std::move(raw).error();
  auto name = read_name(memory, raw->name, kLongestTypeName, "name of a record type");
  if (!name) return std::move(name).error();
  if (raw->rec_size < 0 || raw->no_fields < 0 || raw->no_fields > kMostFields)
    return error_in_words("record type " + *name + ": " + std::to_string(raw->no_fields) +
                          " fields in " + std::to_string(raw->rec_size) + " bytes");
  return RecordType{std::move(*name), *raw};
}

Result<std::optional<CommonFields>> read_common_fields(Memory& memory, const RecordType& type) {
  CommonFields fields;
  std::array<WantedField, 14> wanted = wanted_fields(fields);
  const std::string what = "fields of record type " + type.name;
  if (type.raw.rec_size == 0) return std::optional<CommonFields>();
  std::size_t found = 0;
  for (std::int16_t i = 0; i < type.raw.no_fields && found < wanted.size(); ++i) {
    const auto field = read_field(memory, type, i, what);
    if (!field) return field.error();
    const layout::DbFldDes& raw = field->raw;
    const auto want = std::ranges::find(wanted, std::string_view(field->name), &WantedField::name);
    if (want == wanted.end() || *want->offset != 0) continue;
    if (raw.offset == 0) return std::optional<CommonFields>();
    const bool right_size = want->size == kAnySize ? raw.size > 0 : raw.size == want->size;
    if (!right_size || raw.offset + raw.size > type.raw.rec_size)
      return error_in_words(what + ": " + field->name + " has " + std::to_string(raw.size) +
                            " bytes at " + std::to_string(raw.offset) + " of " +
                            std::to_string(type.raw.rec_size));
    *want->offset = raw.offset;
    ++found;
  }
  for (const WantedField& want : wanted)
    if (want.needed && *want.offset == 0)
      return error_in_words(what + ": no field " + std::string(want.name));
  return std::optional(fields);
}

Result<std::vector<LinkField>> read_link_fields(Memory& memory, const RecordType& type) {
  std::vector<LinkField> links;
  int end = 0;  // of the field before: they stand in the record's order
  const std::string what = "links of record type " + type.name;
  if (type.raw.no_links < 0 || type.raw.no_links > type.raw.no_fields)
    return error_in_words(what + ": " + std::to_string(type.raw.no_links) + " of " +
                          std::to_string(type.raw.no_fields) + " fields");
  for (std::int16_t i = 0; i < type.raw.no_links && type.raw.rec_size > 0; ++i) {
    const auto index =
        memory.value<std::int16_t>(type.raw.link_ind + 2u * static_cast<unsigned>(i));
    if (!index) return index.error();
    if (*index < 0 || *index >= type.raw.no_fields)
      return error_in_words(what + ": field " + std::to_string(*index));
    auto field = read_field(memory, type, *index, what);
    if (!field) return std::move(field).error();
    const layout::DbFldDes& raw = field->raw;
    if (raw.offset == 0) return std::vector<LinkField>();
    if (raw.size <= 0 || raw.offset < end || raw.offset + raw.size > type.raw.rec_size)
      return error_in_words(what + ": " + field->name + " has " + std::to_string(raw.size) +
                            " bytes at " + std::to_string(raw.offset));
    end = raw.offset + raw.size;
    links.push_back({std::move(field->name), raw.offset, static_cast<std::uint16_t>(raw.size)});
  }
  return links;
}

Result<std::vector<DelayField>> read_delay_fields(Memory& memory, const RecordType& type) {
  std::vector<DelayField> delays;
  for (std::int16_t i = 0; i < type.raw.no_fields && type.raw.rec_list.first != 0; ++i) {
    const auto field = read_field(memory, type, i, "fields of record type " + type.name);
    if (!field) return field.error();
    const layout::DbFldDes& raw = field->raw;
    if (is_delay(field->name, raw.size) && raw.offset > 0 &&
        raw.offset + raw.size <= type.raw.rec_size)
      delays.push_back({raw.offset, static_cast<std::uint16_t>(raw.size)});
  }
  return delays;
}

Result<void> read_records(Memory& memory, const RecordType& type, std::uint32_t type_index,
                          std::vector<RecordIdentity>& records, std::vector<AliasNode>& aliases) {
  const std::string what = "record list of type " + type.name;
  return walk_list(memory, type.raw.rec_list, kMostRecordsOfType, what,
                   [&](std::uint64_t address) -> Result<void> {
                     const auto node = read_struct<layout::DbRecordNode>(memory, address, what);
                     if (!node) return node.error();
                     if ((node->flags & layout::kFlagIsAlias) != 0) {
                       aliases.push_back({node->record_name, node->precord});
                       return {};
                     }
                     if (!is_pointer(node->precord))
                       return error_in_words(what + ": record at " + hex_address(node->precord) +
                                             " is no pointer");
                     records.push_back({node->precord, {}, type_index});
                     return {};
                   });
}

Result<void> read_record_names(Memory& memory, const std::vector<std::string>& types,
                               std::vector<RecordIdentity>& records) {
  // By address, so that the memory is passed once.
  std::ranges::sort(records, {}, &RecordIdentity::address);
  std::uint64_t previous = 0;
  for (RecordIdentity& record : records) {
    if (record.address == previous)
      return error_in_words("two records at " + hex_address(record.address) + ", one of type " +
                            types[record.type]);
    previous = record.address;
    auto name = read_name(memory, record.address, layout::kRecordNameSize, "name of a record");
    if (!name) return std::move(name).error();
    record.name = std::move(*name);
  }
  return {};
}

Result<std::vector<RecordAlias>> read_alias_names(Memory& memory, std::vector<AliasNode> aliases,
                                                  const std::vector<RecordIdentity>& records) {
  std::ranges::sort(aliases, {}, &AliasNode::name);
  std::vector<RecordAlias> named;
  for (const AliasNode& alias : aliases) {
    const auto record =
        std::ranges::lower_bound(records, alias.record, {}, &RecordIdentity::address);
    if (record == records.end() || record->address != alias.record) continue;
    auto name = read_name(memory, alias.name, kLongestAlias, "name of an alias");
    if (!name) return std::move(name).error();
    named.push_back({std::move(*name), static_cast<std::uint32_t>(record - records.begin())});
  }
  std::ranges::sort(named, {}, &RecordAlias::name);
  return named;
}

}  // namespace ioc_exporter::iocs
