// Puts with callback that wait: samples by IOC, and the answer of GET /api/v1/pending-puts. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/wall_clock.h"
#include "puts/server_probe/server_probe.h"
#include "puts/totals/samples.h"
#include "puts/totals/samples_by_name.h"

namespace ioc_exporter::puts {

inline constexpr const char* kPendingPutsPath = "/api/v1/pending-puts";

// Of IOCs all of whose servers report begin and end of each, sorted by name.
std::vector<PendingPutsSample> pending_samples(const IocNames& names, PendingPuts pending,
                                               const WallClock::Reading& now);

// JSON array with an object for each IOC. Texts are as the labels on /metrics.
std::string to_json(const std::vector<PendingPutsSample>& pending);

}  // namespace ioc_exporter::puts
