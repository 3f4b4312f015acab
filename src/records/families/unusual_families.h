// Families about records that do what they do not usually do, and their table on the page.
#pragma once

#include <vector>

#include "exposition/encoder.h"
#include "exposition/status_page.h"
#include "records/families/samples.h"

namespace ioc_exporter::records {

void encode_unusual(const std::vector<const IocSample*>& iocs, exposition::Encoder& encoder);

// Some of all IOCs.
inline constexpr std::size_t kUnusualShown = 100;
exposition::StatusTable unusual_table(const std::vector<IocSample>& iocs);

}  // namespace ioc_exporter::records
