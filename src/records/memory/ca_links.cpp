#include "records/memory/ca_links.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <tuple>

#include "base/time_text.h"
#include "iocs/memory/database_walk.h"
#include "iocs/memory/variables.h"

namespace ioc_exporter::records {
namespace {

constexpr std::int16_t kCaLink = 11;  // CA_LINK of link.h
constexpr std::size_t kLinksAtOnce = 512;
constexpr std::size_t kBytesAtOnce = 64u << 10;  // of records
constexpr std::size_t kLongestPv = 256;
constexpr std::size_t kFlags = 6;       // gotInNative to newOutString
constexpr std::uint8_t kMostScans = 5;  // scanningOnce, which follows them since 3.16
constexpr int kAttempts = 3;
constexpr std::size_t kLinksShown = 100;

// link.h until 3.15 and since.
constexpr CaLinkLayout old_layout(std::uint16_t disconnects) {
  const auto at = [disconnects](int more) {
    return static_cast<std::uint16_t>(disconnects + more);
  };
  return {56, 8, 40, 16, 24, 32, 80, at(-8), disconnects, at(8)};
}
constexpr CaLinkLayout new_layout(std::uint16_t disconnects) {
  const auto at = [disconnects](int more) {
    return static_cast<std::uint16_t>(disconnects + more);
  };
  return {80, 0, 8, 56, 32, 40, 112, at(-8), disconnects, at(8)};
}

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace

// From dbCaPvt.h of each release: plinkPutCallback left it in 3.14.12.6 and 3.15.3; evidNative and
// evidString came in 3.14.12.8, 3.15.6, 3.16.2 and 7.0.2; 7.0.10 by the offsets in its dbcar().
std::optional<CaLinkLayout> ca_link_layout(std::string_view base_version) {
  std::array<int, 4> v{};
  if (std::sscanf(std::string(base_version).c_str(), "%d.%d.%d.%d", &v[0], &v[1], &v[2], &v[3]) < 3)
    return std::nullopt;
  if (v >= std::array{7, 0, 2, 0}) return new_layout(328);
  if (v >= std::array{7, 0, 1, 0}) return new_layout(312);
  if (v >= std::array{3, 16, 2, 0}) return new_layout(328);
  if (v >= std::array{3, 16, 0, 0}) return new_layout(312);
  if (v >= std::array{3, 15, 6, 0}) return old_layout(296);
  if (v >= std::array{3, 15, 3, 0}) return old_layout(280);
  if (v >= std::array{3, 15, 0, 0}) return old_layout(288);
  if (v >= std::array{3, 14, 12, 8}) return old_layout(296);
  if (v >= std::array{3, 14, 12, 6}) return old_layout(280);
  if (v >= std::array{3, 14, 12, 0}) return old_layout(288);
  return std::nullopt;
}

CaLinks::CaLinks(std::shared_ptr<const Database> database, std::string base_version)
    : database_(std::move(database)),
      base_version_(std::move(base_version)),
      layout_(ca_link_layout(base_version_)) {
  const auto& fields = database_->link_fields;
  for (std::uint32_t i = 0; i < database_->records.size(); ++i)
    if (const auto type = database_->records[i].type; type < fields.size() && !fields[type].empty())
      order_.push_back(i);
  std::ranges::stable_sort(order_, {}, [this](auto i) { return database_->records[i].type; });
}

std::uint64_t CaLinks::address_of(Key key) const {
  return database_->records[key >> 32].address + field_of(key).offset;
}

const LinkField& CaLinks::field_of(Key key) const {
  return database_
      ->link_fields[database_->records[key >> 32].type][static_cast<std::uint32_t>(key)];
}

std::size_t CaLinks::size() const {
  return layout_->no_writes + sizeof(std::uint64_t) - layout_->plink;
}

Result<void> CaLinks::update(iocs::Memory& memory, const iocs::VariablePlaces& variables,
                             Clock::time_point deadline) {
  auto done = read(memory, variables, deadline);
  if (!done) {
    complete_ = false;
    next_ = 0;
  }
  return done;
}

Result<void> CaLinks::read(iocs::Memory& memory, const iocs::VariablePlaces& variables,
                           Clock::time_point deadline) {
  if (!layout_)
    return error_in_words("their layout in Base " +
                          (base_version_.empty() ? "of unknown version" : base_version_) +
                          " is not known");
  if (!accepting_) {
    const auto place = iocs::place_of(variables, "interruptAccept");
    if (!place) return place.error();
    const auto accepts = memory.value<std::int32_t>(place->address);
    if (!accepts) return accepts.error();
    if (*accepts == 0) return error_in_words("iocInit is under way, or the IOC is paused");
    accepting_ = true;
  }
  const bool first = !complete_;
  for (std::size_t passed = 0;
       first ? !complete_ : passed < std::min(kRecordsAtUpdate, order_.size());) {
    const auto some = pass_some(memory, kRecordsAtUpdate - (first ? 0 : passed), deadline);
    if (!some) return some.error();
    passed += *some;
    if (Clock::now() >= deadline) break;
  }
  for (std::size_t seen = 0; seen < kLinksAtUpdate && Clock::now() < deadline;) {
    std::vector<Key> keys;
    auto link = links_.lower_bound(next_link_);
    for (; link != links_.end() && keys.size() < kLinksAtOnce; ++link) keys.push_back(link->first);
    next_link_ = link == links_.end() ? 0 : link->first;
    if (auto done = read_links(memory, keys, deadline); !done) return done;
    seen += keys.size();
    if (next_link_ == 0) break;
  }
  read_names(memory, deadline);
  return {};
}

// Records of one type, as many as one reading takes.
Result<std::size_t> CaLinks::pass_some(iocs::Memory& memory, std::size_t most,
                                       Clock::time_point deadline) {
  if (order_.empty()) {
    complete_ = true;
    return most;
  }
  const std::vector<RecordIdentity>& records = database_->records;
  const std::uint32_t type = records[order_[next_]].type;
  std::uint16_t first = UINT16_MAX;
  std::size_t end = 0;
  for (const LinkField& field : database_->link_fields[type]) {
    if (field.size != layout_->link_size)
      return error_in_words("links have " + std::to_string(field.size) + " bytes, not " +
                            std::to_string(layout_->link_size));
    first = std::min(first, field.offset);
    end = std::max<std::size_t>(end, field.offset + field.size);
  }
  const std::size_t size = end - first;
  const std::size_t at_once = std::clamp<std::size_t>(kBytesAtOnce / size, 1, most);
  std::vector<std::uint64_t> addresses;
  for (std::size_t i = next_; i < order_.size() && addresses.size() < at_once; ++i) {
    if (records[order_[i]].type != type) break;
    addresses.push_back(records[order_[i]].address + first);
  }
  std::vector<std::byte> bytes(addresses.size() * size);
  const auto got = memory.gather(addresses, size, bytes);
  if (!got) return got.error();
  std::vector<Key> fresh;
  for (std::size_t i = 0; i < *got; ++i) {
    auto noted =
        note_links(order_[next_ + i], std::span(bytes).subspan(i * size, size), first, fresh);
    if (!noted) return noted.error();
  }
  if (auto done = read_links(memory, fresh, deadline); !done) return done.error();
  if (!std::ranges::all_of(fresh, [this](Key key) {
        const auto link = links_.find(key);
        return link == links_.end() || link->second.was_read;
      }))
    return std::size_t{0};  // no time: these again
  next_ += *got;
  if (next_ == order_.size()) {
    next_ = 0;
    complete_ = true;
  }
  return *got;
}

// `bytes` of the record begin at `first`. `fresh`: links whose caLink was not read.
Result<void> CaLinks::note_links(std::uint32_t record, std::span<const std::byte> bytes,
                                 std::uint16_t first, std::vector<Key>& fresh) {
  const RecordIdentity& identity = database_->records[record];
  const std::vector<LinkField>& fields = database_->link_fields[identity.type];
  for (std::uint32_t i = 0; i < fields.size(); ++i) {
    const auto link = bytes.subspan(fields[i].offset - first, layout_->link_size);
    const Key key = Key{record} << 32 | i;
    const auto ca_link = value_at<std::uint64_t>(link, layout_->pvt);
    if (value_at<std::int16_t>(link, layout_->type) != kCaLink || ca_link == 0) {
      links_.erase(key);
      continue;
    }
    if (value_at<std::uint64_t>(link, layout_->owner) != identity.address)
      return error_in_words(identity.name + "." + fields[i].name + " is not its record's link");
    const auto known = links_.find(key);
    if (known != links_.end() && known->second.ca_link == ca_link) {
      if (!known->second.was_read) fresh.push_back(key);
      continue;
    }
    if (known == links_.end() && links_.size() == kMostLinks)
      return error_in_words("there are more than " + std::to_string(kMostLinks));
    links_.insert_or_assign(key, Link{.ca_link = ca_link});
    fresh.push_back(key);
  }
  return {};
}

Result<void> CaLinks::read_links(iocs::Memory& memory, std::span<const Key> keys,
                                 Clock::time_point deadline) {
  std::vector<std::uint64_t> addresses;
  for (const Key key : keys) addresses.push_back(links_.at(key).ca_link + layout_->plink);
  for (std::size_t i = 0; i < keys.size() && (i == 0 || Clock::now() < deadline);) {
    const std::size_t some = std::min(kLinksAtOnce, keys.size() - i);
    std::vector<std::byte> bytes(some * size());
    const auto got = memory.gather(std::span(addresses).subspan(i, some), size(), bytes);
    // Freed since, with its page.
    const std::size_t count = got ? *got : 1;
    for (std::size_t k = 0; k < count; ++k, ++i) {
      if (got && take(links_.at(keys[i]), keys[i], std::span(bytes).subspan(k * size(), size())))
        continue;
      if (auto settled = settle(memory, keys[i]); !settled) return settled;
    }
  }
  return {};
}

// A link that does not lead back: it may be set to another PV at this moment.
Result<void> CaLinks::settle(iocs::Memory& memory, Key key) {
  std::vector<std::byte> link(layout_->link_size), ca_link(size());
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (auto read = memory.read(address_of(key), link); !read) return read;
    const auto address = value_at<std::uint64_t>(link, layout_->pvt);
    if (value_at<std::int16_t>(link, layout_->type) != kCaLink || address == 0) {
      links_.erase(key);
      return {};
    }
    Link& known = links_.at(key);
    if (known.ca_link != address) known = Link{.ca_link = address};
    if (memory.read(address + layout_->plink, ca_link) && take(known, key, ca_link)) return {};
  }
  return error_in_words(database_->records[key >> 32].name + "." + field_of(key).name +
                        " does not lead to a caLink as Base " + base_version_ + " has it");
}

// `bytes` of a caLink from `plink` on; false: it is none of this link.
bool CaLinks::take(Link& link, Key key, std::span<const std::byte> bytes) {
  const auto offset = [this](std::uint16_t of) { return std::size_t{of} - layout_->plink; };
  const auto access = value_at<std::array<std::uint8_t, 4>>(bytes, offset(layout_->access));
  const auto flags = value_at<std::array<std::uint8_t, 8>>(bytes, offset(layout_->flags));
  const auto is_flag = [](std::uint8_t byte) { return byte <= 1; };
  const auto pvname = value_at<std::uint64_t>(bytes, offset(layout_->pvname));
  if (value_at<std::uint64_t>(bytes, 0) != address_of(key) || !iocs::is_pointer(pvname) ||
      !std::ranges::all_of(access, is_flag) ||
      !std::all_of(flags.begin(), flags.begin() + kFlags, is_flag) || flags[6] > kMostScans ||
      flags[7] != 0)
    return false;
  const auto count = [&](std::uint16_t of, std::uint64_t& before, std::uint64_t& total) {
    const auto now = value_at<std::uint64_t>(bytes, offset(of));
    total += now - (now >= before ? before : 0);
    return std::exchange(before, now) != now;
  };
  const bool was_lost = count(layout_->disconnects, link.disconnects, disconnects_);
  count(layout_->no_writes, link.lost_writes, lost_writes_);
  if (std::exchange(link.pvname, pvname) != pvname) {
    link.pv.clear();
    link.down_since.reset();
  }
  link.was_read = true;
  link.connected = access[2] != 0;
  link.ever_connected = access[3] != 0;
  if (link.connected) {
    link.down_since.reset();
    link.pv.clear();
  } else if (!link.down_since || was_lost) {
    link.down_since = now_seconds();
  }
  return true;
}

std::vector<CaLinks::Key> CaLinks::longest_down() const {
  std::vector<std::pair<double, Key>> down;
  for (const auto& [key, link] : links_)
    if (link.down_since) down.emplace_back(*link.down_since, key);
  std::ranges::sort(down);
  if (down.size() > kMostNamed) down.resize(kMostNamed);
  std::vector<Key> keys;
  for (const auto& [since, key] : down) keys.push_back(key);
  return keys;
}

void CaLinks::read_names(iocs::Memory& memory, Clock::time_point deadline) {
  for (const Key key : longest_down()) {
    if (Clock::now() >= deadline) return;
    Link& link = links_.at(key);
    auto name = iocs::read_name(memory, link.pvname, kLongestPv, "name of a PV");
    if (!name || *name == link.pv) continue;
    // The link was set to another PV, whose name stands where the former's did.
    if (!link.pv.empty()) link.down_since = now_seconds();
    link.pv = std::move(*name);
  }
}

std::optional<CaLinksSample> CaLinks::sample() const {
  if (!complete_) return std::nullopt;
  CaLinksSample sample;
  for (const auto& [key, link] : links_)
    ++(link.connected ? sample.connected : sample.disconnected);
  sample.disconnects = disconnects_;
  sample.lost_writes = lost_writes_;
  for (const Key key : longest_down()) {
    const Link& link = links_.at(key);
    sample.down.push_back({static_cast<std::uint32_t>(key >> 32), field_of(key).name, link.pv,
                           *link.down_since, link.ever_connected});
  }
  return sample;
}

exposition::StatusTable down_links_table(const std::vector<IocSample>& iocs) {
  exposition::StatusTable table;
  table.title = "Channel Access links that are down";
  table.note = "Links of records whose PV is not connected.";
  table.columns = {{"IOC", false}, {"link", false}, {"PV", false}, {"down for at least", true}};
  const double now = now_seconds();
  std::uint64_t down = 0;
  for (const IocSample& ioc : iocs) {
    if (!ioc.up || !ioc.database || !ioc.memory || !ioc.memory->ca_links) continue;
    down += ioc.memory->ca_links->disconnected;
    for (const DownLink& link : ioc.memory->ca_links->down) {
      if (table.rows.size() == kLinksShown || link.record >= ioc.database->records.size()) break;
      table.rows.push_back({ioc.name, ioc.database->records[link.record].name + "." + link.field,
                            link.pv, span_text(now - link.since_seconds)});
    }
  }
  if (down > table.rows.size())
    table.more = "And " + std::to_string(down - table.rows.size()) +
                 " more: ioc_exporter links IOC names them.";
  return table;
}

}  // namespace ioc_exporter::records
