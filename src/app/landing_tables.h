// Tables of the page at "/" from a snapshot: who is connected, who wrote last, which records are
// stuck, what is searched in vain. Pure.
#pragma once

#include <vector>

#include "web/landing_page.h"
#include "base/samples.h"

namespace ioc_exporter::app {

inline constexpr std::size_t kClientsShown = 100;
inline constexpr std::size_t kPutsShown = 10;
inline constexpr std::size_t kStuckShown = 100;

// `now_seconds`: time of day. Tables without rows are among them.
std::vector<web::LandingTable> landing_tables(const Snapshot& snapshot, double now_seconds);

}  // namespace ioc_exporter::app
