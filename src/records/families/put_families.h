// The family of writes inside the IOCs.
#pragma once

#include <vector>

#include "exposition/encoder.h"
#include "records/families/samples.h"

namespace ioc_exporter::records {

void encode_record_writes(const std::vector<const IocSample*>& iocs, exposition::Encoder& encoder);

}  // namespace ioc_exporter::records
