// The family of the links from record to record, and of nothing else.
#pragma once

#include <vector>

#include "exposition/encoder.h"
#include "records/families/samples.h"

namespace ioc_exporter::records {

// Links from or to records whose names are not known are summed under "".
void encode_links(const std::vector<const IocSample*>& iocs, exposition::Encoder& encoder);

}  // namespace ioc_exporter::records
