#include "puts/inventory/channel_facts.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <utility>

#include "puts/inventory/rsrv_layout.h"
#include "shared/ca_parser.h"

namespace ioc_exporter::puts {
namespace {

constexpr std::size_t kMostLookedAt = 32;  // channels, to choose the layout
constexpr std::size_t kMostMonitors = 1'000'000;
constexpr std::size_t kFieldNameSize = 64;

// A channel with the pointers that lead on from it.
struct Pointers {
  layout::ChannelInUse common{};
  layout::DbAddr address{};
  std::uint64_t name = 0;  // char *; 0: the layout has none
  std::uint64_t access = 0;
  bool good = false;
};

bool leads_somewhere(const layout::DbAddr& address) {
  return iocs::is_pointer(address.record) && iocs::is_pointer(address.description);
}

class FactReader {
 public:
  FactReader(iocs::Memory& memory, ChannelLayout layout, std::span<const ChannelEntry> channels)
      : memory_(memory), layout_(layout), pointers_(channels.size()) {
    for (const ChannelEntry& channel : channels) facts_.emplace_back().entry = channel;
  }

  // Step by step over all channels, each step in the order of the addresses that it reads.
  std::vector<ChannelFacts> run() {
    if (layout_ == ChannelLayout::by_db_channel)
      read_by_db_channel();
    else
      read_by_db_addr();
    in_order([](const Pointers& at) { return at.access; },
             [this](std::size_t i) { facts_[i].access = access_of(i); });
    for (std::size_t i = 0; i < facts_.size(); ++i) take_common(i);
    return std::move(facts_);
  }

  // For layout_of(): a field's description stands where it must.
  bool field_is_named(std::size_t i) {
    return field_of(pointers_[i].address.description) != nullptr;
  }

 private:
  struct Field {
    std::string name;  // "": none
    std::int32_t type = 0;
  };

  // Calls each(index) for the channels that are good so far, by growing key(pointers).
  void in_order(const std::function<std::uint64_t(const Pointers&)>& key,
                const std::function<void(std::size_t)>& each) {
    std::vector<std::pair<std::uint64_t, std::size_t>> order;
    for (std::size_t i = 0; i < pointers_.size(); ++i)
      if (pointers_[i].good) order.emplace_back(key(pointers_[i]), i);
    std::ranges::sort(order);
    for (const auto& [address, i] : order) each(i);
  }

  void read_by_db_channel() {
    for (std::size_t i = 0; i < facts_.size(); ++i) {
      const auto raw = memory_.value<layout::ChannelByDbChannel>(facts_[i].entry.address);
      if (!raw || !iocs::is_pointer(raw->db_channel)) continue;
      pointers_[i] = {raw->common, {}, raw->db_channel, raw->access, true};
    }
    in_order([](const Pointers& at) { return at.name; },
             [this](std::size_t i) {
               const auto raw = memory_.value<layout::DbChannel>(pointers_[i].name);
               pointers_[i].good = raw && raw->name != 0 && leads_somewhere(raw->address);
               if (!pointers_[i].good) return;
               pointers_[i].name = raw->name;
               pointers_[i].address = raw->address;
             });
    in_order([](const Pointers& at) { return at.name; },
             [this](std::size_t i) {
               auto name = read_text(memory_, pointers_[i].name, IOCX_CA_NAME);
               if (name) facts_[i].name = std::move(*name);
             });
  }

  void read_by_db_addr() {
    for (std::size_t i = 0; i < facts_.size(); ++i) {
      const auto raw = memory_.value<layout::ChannelByDbAddr>(facts_[i].entry.address);
      if (!raw || !leads_somewhere(raw->address)) continue;
      pointers_[i] = {raw->common, raw->address, 0, raw->access, true};
    }
    in_order([](const Pointers& at) { return at.address.record; },
             [this](std::size_t i) {
               const layout::DbAddr& address = pointers_[i].address;
               const Field* field = field_of(address.description);
               auto record = read_text(memory_, address.record, layout::kRecordNameSize);
               if (field == nullptr || !record || record->empty()) return;
               const bool long_string =
                   is_long_string(field->type, address.field_type, address.dbr_field_type);
               facts_[i].name = channel_name(std::move(*record), field->name, long_string);
             });
  }

  // Fields are few and channels many: each is read once.
  const Field* field_of(std::uint64_t description) {
    const auto [known, is_new] = fields_.try_emplace(description);
    if (is_new) {
      const auto raw = memory_.value<layout::DbFldDes>(description);
      if (!raw || raw->name == 0) return nullptr;
      auto name = read_text(memory_, raw->name, kFieldNameSize);
      const auto fits = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
      };
      if (name && std::ranges::all_of(*name, fits))
        known->second = {std::move(*name), raw->field_type};
    }
    return known->second.name.empty() ? nullptr : &known->second;
  }

  // As access_rights_reply() in rsrv/camessage.c answers the client.
  ServerSample::Access access_of(std::size_t i) {
    const Pointers& at = pointers_[i];
    const bool read_only = at.address.special == layout::kSpcNoMod;
    const auto all = read_only ? ServerSample::read : ServerSample::read_write;
    if (at.access == 0) return all;  // access security was not on
    if (!iocs::is_pointer(at.access)) return ServerSample::unknown;
    const auto raw = memory_.value<layout::AsgClient>(at.access);
    if (!raw || raw->user_private != facts_[i].entry.address) return ServerSample::unknown;
    switch (raw->access) {
      case layout::kAsNoAccess:
        return ServerSample::none;
      case layout::kAsRead:
        return ServerSample::read;
      case layout::kAsWrite:
        return all;
      default:
        return ServerSample::unknown;
    }
  }

  void take_common(std::size_t i) {
    const layout::ChannelInUse& common = pointers_[i].common;
    ChannelFacts& facts = facts_[i];
    if (!pointers_[i].good || common.sid != facts.entry.sid) facts.name.clear();
    facts.client = common.client;
    facts.cid = common.cid;
    const auto monitors = common.eventq.count;
    if (monitors > 0 && static_cast<std::size_t>(monitors) <= kMostMonitors)
      facts.monitors = static_cast<std::uint32_t>(monitors);
  }

  iocs::Memory& memory_;
  ChannelLayout layout_;
  std::vector<ChannelFacts> facts_;
  std::vector<Pointers> pointers_;
  std::map<std::uint64_t, Field> fields_;
};

// How many of these channels a layout makes sense of.
std::size_t fitting(iocs::Memory& memory, ChannelLayout layout,
                    std::span<const ChannelEntry> channels) {
  FactReader reader(memory, layout, channels);
  const std::vector<ChannelFacts> facts = reader.run();
  std::size_t count = 0;
  for (std::size_t i = 0; i < facts.size(); ++i)
    if (!facts[i].name.empty() && reader.field_is_named(i)) ++count;
  return count;
}

}  // namespace

std::optional<ChannelLayout> layout_of(iocs::Memory& memory,
                                       std::span<const ChannelEntry> channels) {
  std::vector<ChannelEntry> some;
  const std::size_t step = channels.size() / kMostLookedAt + 1;
  for (std::size_t i = 0; i < channels.size(); i += step) some.push_back(channels[i]);
  const std::size_t by_db_channel = fitting(memory, ChannelLayout::by_db_channel, some);
  const std::size_t by_db_addr = fitting(memory, ChannelLayout::by_db_addr, some);
  if (by_db_channel == by_db_addr) return std::nullopt;
  return by_db_channel > by_db_addr ? ChannelLayout::by_db_channel : ChannelLayout::by_db_addr;
}

std::vector<ChannelFacts> read_channel_facts(iocs::Memory& memory, ChannelLayout layout,
                                             std::span<const ChannelEntry> channels) {
  return FactReader(memory, layout, channels).run();
}

}  // namespace ioc_exporter::puts
