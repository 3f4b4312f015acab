#include "database_image.h"

#include <unistd.h>

#include <cstring>

#include "iocs/find/process_stat.h"

namespace ioc_exporter::iocs {

DatabaseImage::Type& DatabaseImage::add_type(const std::string& name, bool registered) {
  Type& type = types_.emplace_back();
  type.name = name;
  type.raw.name = address(type.name.c_str());
  const std::vector<Field> fields{
      {"NAME", 61, 0},  {"DESC", 41, 61},     {"DISV", 2, 110},      {"DISA", 2, 112},
      {"STAT", 2, 120}, {"PACT", 1, kPactAt}, {"SEVR", 2, kSevrAt},  {"LCNT", 1, 130},
      {"PUTF", 1, 132}, {"RPRO", 1, 133},     {"DISP", 1, 134},      {"PPN", 8, 160},
      {"TIME", 8, 168}, {"RSET", 8, kRsetAt}, {"SDIS", 80, kSdisAt}, {"SCAN", 2, 104}};
  for (const Field& field : fields) {
    layout::DbFldDes& description = type.fields.emplace_back();
    description.name = address(type.field_names.emplace_back(field.name).c_str());
    description.size = registered ? field.size : std::int16_t{0};
    description.offset = registered ? field.offset : std::uint16_t{0};
    type.field_pointers.push_back(address(&description));
  }
  type.raw.no_fields = static_cast<std::int16_t>(fields.size());
  type.raw.fld_des = address(type.field_pointers.data());
  type.raw.rec_size = registered ? static_cast<std::int32_t>(sizeof(RecordImage)) : 0;
  type.raw.prset = registered ? address(&type) : 0;
  append(root_->record_type_list, type.raw);
  return type;
}

RecordImage& DatabaseImage::add_record(Type& type, const std::string& name, bool initialized) {
  RecordImage& record = records_.emplace_back();
  std::memset(static_cast<void*>(&record), 0, sizeof record);
  std::memcpy(record.name, name.c_str(), std::min(name.size(), sizeof record.name - 1));
  const std::uint64_t support = initialized ? type.raw.prset : 0;
  std::memcpy(reinterpret_cast<char*>(&record) + kRsetAt, &support, sizeof support);
  const std::uint64_t owner = initialized ? address(&record) : 0;
  std::memcpy(reinterpret_cast<char*>(&record) + kSdisAt, &owner, sizeof owner);
  layout::DbRecordNode& node = type.nodes.emplace_back();
  node.precord = address(&record);
  node.record_name = node.precord;
  node.flags = 1;
  append(type.raw.rec_list, node);
  return record;
}

layout::DbRecordNode& DatabaseImage::add_alias(Type& type, const RecordImage& record,
                                               const std::string& name) {
  layout::DbRecordNode& node = type.nodes.emplace_back();
  node.precord = address(&record);
  node.record_name = address(type.aliases.emplace_back(name).c_str());
  node.flags = 1 | layout::kFlagIsAlias;
  append(type.raw.rec_list, node);
  ++type.raw.no_aliases;
  return node;
}

layout::DbMenu& DatabaseImage::add_menu(const std::string& name,
                                        const std::vector<std::string>& choices) {
  std::vector<std::uint64_t>& values = choices_.emplace_back();
  for (const std::string& choice : choices)
    values.push_back(address(texts_.emplace_back(choice).c_str()));
  layout::DbMenu& menu = menus_.emplace_back();
  menu.name = address(texts_.emplace_back(name).c_str());
  menu.choices = static_cast<std::int32_t>(values.size());
  menu.values = address(values.data());
  append(root_->menu_list, menu);
  return menu;
}

std::unique_ptr<ProcMemory> own_memory() {
  const RootedFs host("/");
  const auto stat = iocs::read_process_stat(host, ::getpid());
  auto memory = ProcMemory::open(host, stat->id);
  return memory ? std::move(*memory) : nullptr;
}

}  // namespace ioc_exporter::iocs
