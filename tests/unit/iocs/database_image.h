// A database as EPICS Base lays it out, in the test's own memory, to be read through
// /proc/self/mem.
#pragma once

#include <deque>
#include <vector>

#include "iocs/memory/base_layout.h"
#include "iocs/memory/memory.h"

namespace ioc_exporter::iocs {

// Enough of struct dbCommon: the name first, the rest wherever the field descriptions say.
struct RecordImage {
  alignas(8) char name[layout::kRecordNameSize];
  char rest[300 - layout::kRecordNameSize];
};
inline constexpr std::uint16_t kSevrAt = 122;
inline constexpr std::uint16_t kPactAt = 131;
inline constexpr std::uint16_t kRsetAt = 200;
inline constexpr std::uint16_t kSdisAt = 208;

class DatabaseImage {
 public:
  struct Field {
    std::string name;
    std::int16_t size;
    std::uint16_t offset;
  };
  struct Type {
    layout::DbRecordType raw{};
    std::string name;
    std::deque<layout::DbFldDes> fields;
    std::deque<std::string> field_names;
    std::vector<std::uint64_t> field_pointers;
    std::deque<layout::DbRecordNode> nodes;
    std::deque<std::string> aliases;
  };

  Type& add_type(const std::string& name, bool registered = true);
  RecordImage& add_record(Type& type, const std::string& name, bool initialized = true);
  layout::DbRecordNode& add_alias(Type& type, const RecordImage& record, const std::string& name);

  layout::DbMenu& add_menu(const std::string& name, const std::vector<std::string>& choices);

  // Address of the variable pdbbase.
  std::uint64_t variable() const { return address(&pdbbase_); }
  void unload() { pdbbase_ = 0; }
  layout::DbBase& root() { return *root_; }

  template <class T>
  static std::uint64_t address(const T* object) {
    return reinterpret_cast<std::uintptr_t>(object);
  }
  // A node begins with `node`, a layout::EllNode.
  template <class Node>
  static void append(layout::EllList& list, Node& node) {
    node.node = {0, list.last};
    if (list.last != 0)
      reinterpret_cast<layout::EllNode*>(list.last)->next = address(&node);
    else
      list.first = address(&node);
    list.last = address(&node);
    ++list.count;
  }

 private:
  std::unique_ptr<layout::DbBase> root_ = std::make_unique<layout::DbBase>();
  std::uint64_t pdbbase_ = address(root_.get());
  std::deque<Type> types_;
  std::deque<RecordImage> records_;
  std::deque<layout::DbMenu> menus_;
  std::deque<std::string> texts_;
  std::deque<std::vector<std::uint64_t>> choices_;
};

// This process' memory as the exporter reads an IOC's.
std::unique_ptr<ProcMemory> own_memory();

}  // namespace ioc_exporter::iocs
