// Tables of Channel Access on the page: clients, last writers, names searched in vain.
// Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "exposition/status_page.h"
#include "puts/totals/samples.h"

namespace ioc_exporter::puts {

inline constexpr std::size_t kClientsShown = 100;
inline constexpr std::size_t kPutsShown = 10;
inline constexpr std::size_t kPendingShown = 10;

// `now`: time of day in seconds.
exposition::StatusTable clients_table(const PutsSamples& samples);
// Puts that the policy expects are one row for each user, after all others. `verdict`: on a put;
// "": none.
exposition::StatusTable puts_table(
    const PutsSamples& samples, double now,
    const std::function<std::string_view(const PutSample&)>& verdict);
// The ten oldest of all IOCs.
exposition::StatusTable pending_table(const PutsSamples& samples, double now);
exposition::StatusTable searches_table(const PutsSamples& samples, double now);

}  // namespace ioc_exporter::puts
