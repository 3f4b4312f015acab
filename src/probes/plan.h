// Plan: which attachments there are to be, from what is wanted. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kernel/uprobe.h"
#include "probes/row.h"

namespace ioc_exporter::probes {

// What is known of an IOC from the host's scan.
struct IocState {
  bool main_thread_ended = false;
  std::string left_alone = {};  // why its code is not to be touched; "" = it may be

  bool operator==(const IocState&) const = default;
};

inline constexpr const char* kNoRoom = "not counted: there is no room for it";
inline constexpr iocs::IocId kAll{kernel::kAllProcesses, 0};

// An attachment.
struct Key {
  std::uint32_t program = 0;
  Place place;
  iocs::IocId process;  // or kAll
  auto operator<=>(const Key&) const = default;
};

// A row with its file's number.
struct PlacedRow {
  std::shared_ptr<const ProbeRow> row;
  Place place;
};

struct Plan {
  struct Counted {
    unsigned by = 0;          // IOCX_ATTACH_*; 0: not now
    std::string off = {};     // why
    std::size_t unit = 0;     // members with the same are attached in the same way
    std::set<Key> keys = {};  // its attachments
    std::vector<PlacedRow> rows = {};
  };
  struct Wanted {
    std::shared_ptr<const ProbeRow> row;  // of one IOC
    EndingPtr ending = {};                // null: nobody wants its ends
    bool is_optional = true;
  };
  std::map<Member, Counted> members;
  std::map<Key, Wanted> keys;  // of those that are not off
};

using CountedBy = std::map<Member, unsigned>;

// `now`: which attachments count now. `there`: which ones there are. `failed`: which could not be
// made, and why, until they are tried again: where one for all is among them, as many as may be
// have their own.
Plan make_plan(const std::vector<PlacedRow>& rows, const Policy& policy,
               const std::map<iocs::IocId, IocState>& states, const CountedBy& now,
               const std::set<Key>& there, const std::map<Key, std::string>& failed);

// The same for the other processes, or for that one.
Key key_by(unsigned attach, Key key, const iocs::IocId& ioc);

}  // namespace ioc_exporter::probes
