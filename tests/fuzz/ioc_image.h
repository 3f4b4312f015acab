// A small IOC's memory in one block of bytes, as EPICS Base lays it out, for fuzz targets: a
// database, a CA server with clients and channels, scan lists, callback queues, threads.
#pragma once

#include <cstring>
#include <span>
#include <string_view>

#include "iocs/ioc.h"
#include "iocs/memory/base_layout.h"
#include "puts/inventory/rsrv_layout.h"

namespace ioc_exporter::records {}

namespace fuzz {

namespace puts = ioc_exporter::puts;
namespace iocs = ioc_exporter::iocs;
namespace records = ioc_exporter::records;
namespace layout = ioc_exporter::puts::layout;  // with those of iocs::layout

inline constexpr std::uint64_t kImageStart = 0x7f0000000000;
inline constexpr std::uint32_t kImageRecords = 5, kImageChannels = 4;

class IocImage {
 public:
  IocImage() {
    bytes_.resize(64);
    make_database();
    make_ca_server();
    make_scan_lists();
    make_queues();
    make_threads();
    make_event_users();
    bytes_.resize((bytes_.size() + 4095) / 4096 * 4096);  // whole pages, as memory is mapped
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }
  std::uint64_t pdbbase = 0, server_port = 0;
  iocs::CaServerSymbols server;
  iocs::VariablePlaces variables;

 private:
  std::uint64_t place(std::span<const std::byte> what) {
    bytes_.resize((bytes_.size() + 15) / 16 * 16);
    const std::uint64_t at = kImageStart + bytes_.size();
    bytes_.insert(bytes_.end(), what.begin(), what.end());
    return at;
  }
  template <class T>
  std::uint64_t add(const T& value) {
    return place(std::as_bytes(std::span<const T, 1>(&value, 1)));
  }
  std::uint64_t add_text(std::string_view text) {
    const std::uint64_t at = place(std::as_bytes(std::span(text)));
    bytes_.push_back(std::byte{0});
    return at;
  }
  template <class T>
  void set(std::uint64_t at, const T& value) {
    std::memcpy(bytes_.data() + (at - kImageStart), &value, sizeof value);
  }
  template <class T>
  T get(std::uint64_t at) const {
    T value;
    std::memcpy(&value, bytes_.data() + (at - kImageStart), sizeof value);
    return value;
  }
  template <class T>
  std::uint64_t add_variable(const char* name, const T& value, std::uint64_t size = sizeof(T)) {
    const std::uint64_t at = add(value);
    variables[name].push_back({at, size});
    return at;
  }
  // Each of `nodes` begins with an EllNode.
  layout::EllList chain(std::span<const std::uint64_t> nodes) {
    layout::EllList list{};
    for (const std::uint64_t at : nodes) {
      set(at, layout::EllNode{0, list.last});
      if (list.last != 0) set(list.last, at);
      if (list.first == 0) list.first = at;
      list.last = at;
      ++list.count;
    }
    return list;
  }

  void make_database();
  std::uint64_t make_type(std::string_view name, std::span<const char* const> records, bool alias);
  void make_ca_server();
  void make_scan_lists();
  void make_queues();
  void make_threads();
  void make_event_users();

  std::vector<std::byte> bytes_;
  std::uint64_t first_record_ = 0, field_ = 0;
  std::vector<std::uint64_t> clients_;
};

}  // namespace fuzz
