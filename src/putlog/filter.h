// Which puts a sink, a query or a follower wants.
#pragma once

#include <string_view>

#include "base/pattern.h"
#include "putlog/event.h"

namespace ioc_exporter::putlog {

struct EventFilter {
  NameFilter pv, client, user, ioc;  // a client by its address, or by its address:port
  bool unexpected = false;           // only puts that the policy does not allow
  bool inside = false;               // also usual writes inside the IOCs

  bool wants(const PutEvent& event) const;
};

// Whether the policy holds the put for unexpected or forbidden.
bool is_unexpected(const PutEvent& event);
// A write inside an IOC that it does not hold for such.
bool is_usual_inside(const PutEvent& event);

// Names are bytes that clients choose: one that is no UTF-8, or that holds a line end, is matched
// in the form that the log shows, so that nobody escapes "everything" by his name.
bool matches(const Pattern& pattern, std::string_view name);
// A PV's name, however a client spells it: "X", "X.VAL", "X.VAL$", "X.{...}" are one.
bool matches_pv(const Pattern& pattern, std::string_view pv);

}  // namespace ioc_exporter::putlog
