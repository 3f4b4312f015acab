// The page's table of stuck records: what hangs on a device that does not answer. Pure.
#pragma once

#include <vector>

#include "exposition/status_page.h"
#include "records/families/samples.h"

namespace ioc_exporter::records {

inline constexpr std::size_t kStuckShown = 100;

exposition::StatusTable stuck_table(const std::vector<IocSample>& iocs);

}  // namespace ioc_exporter::records
