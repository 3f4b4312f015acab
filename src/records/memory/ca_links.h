// CaLinks: the Channel Access links of an IOC's records, from dbCa's own struct behind each
// (dbCaPvt.h): which are connected, how often they were lost, and writes that were replaced
// before they were sent.
//
// dbCa keeps no list of them: the records' link fields are passed once, and then again and again,
// some at each update, for links that were set to another PV. What does not lead back to its link
// is no caLink, and has no state. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "exposition/status_page.h"
#include "iocs/ioc.h"
#include "iocs/memory/memory.h"
#include "iocs/samples.h"
#include "records/families/samples.h"

namespace ioc_exporter::records {

// Offsets in bytes, LP64.
struct CaLinkLayout {
  // Of struct link.
  std::uint16_t link_size = 0, owner = 0, type = 0, pvt = 0;
  // Of struct caLink: all between `plink` and the end of `no_writes` is read.
  std::uint16_t plink = 0, pvname = 0, access = 0, flags = 0, disconnects = 0, no_writes = 0;
};

// Of a Base, "7.0.8.1"; nothing: not known.
std::optional<CaLinkLayout> ca_link_layout(std::string_view base_version);

class CaLinks {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostNamed = 1000;  // links that are down, by name
  static constexpr std::size_t kMostLinks = 200'000;
  // At each update, once all were passed.
  static constexpr std::size_t kRecordsAtUpdate = 5'000, kLinksAtUpdate = 20'000;

  CaLinks(std::shared_ptr<const Database> database, std::string base_version);

  // Goes on until `deadline`. An error: nothing is known, and the next update begins anew.
  Result<void> update(iocs::Memory& memory, const iocs::VariablePlaces& variables,
                      Clock::time_point deadline);
  // Its counts begin anew.
  void begin_anew() { disconnects_ = lost_writes_ = 0; }
  // Nothing before all records were passed.
  std::optional<CaLinksSample> sample() const;

 private:
  struct Link {
    std::uint64_t ca_link = 0;  // struct caLink *, in the IOC
    std::uint64_t pvname = 0;   // char *
    std::uint64_t disconnects = 0, lost_writes = 0;
    bool was_read = false, connected = false, ever_connected = false;
    std::optional<double> down_since = {};  // time of day
    std::string pv = {};                    // of some that are down
  };
  using Key = std::uint64_t;  // record's index, and in the lower half that of the field

  Result<void> read(iocs::Memory& memory, const iocs::VariablePlaces& variables,
                    Clock::time_point deadline);
  Result<std::size_t> pass_some(iocs::Memory& memory, std::size_t most, Clock::time_point deadline);
  Result<void> note_links(std::uint32_t record, std::span<const std::byte> bytes,
                          std::uint16_t first, std::vector<Key>& fresh);  // not read
  Result<void> read_links(iocs::Memory& memory, std::span<const Key> keys,
                          Clock::time_point deadline);
  Result<void> settle(iocs::Memory& memory, Key key);
  bool take(Link& link, Key key, std::span<const std::byte> bytes);
  void read_names(iocs::Memory& memory, Clock::time_point deadline);
  std::vector<Key> longest_down() const;

  std::uint64_t address_of(Key key) const;
  const LinkField& field_of(Key key) const;
  std::size_t size() const;  // of what is read of a caLink

  std::shared_ptr<const Database> database_;
  std::string base_version_;
  std::optional<CaLinkLayout> layout_;
  std::vector<std::uint32_t> order_;  // records with links, by type
  bool accepting_ = false;            // iocInit was seen to be done: all links are made
  bool complete_ = false;             // all records were passed
  std::size_t next_ = 0;              // in order_
  std::map<Key, Link> links_;
  Key next_link_ = 0;  // to read
  std::uint64_t disconnects_ = 0, lost_writes_ = 0;
};

// The page's table of links that are down. Pure.
exposition::StatusTable down_links_table(const std::vector<IocSample>& iocs);

}  // namespace ioc_exporter::records
