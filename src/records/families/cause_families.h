// Families of why records processed, and of the changes of their severity.
#pragma once

#include <vector>

#include "exposition/encoder.h"
#include "records/families/samples.h"

namespace ioc_exporter::records {

void encode_causes(const std::vector<const IocSample*>& iocs, exposition::Encoder& encoder);

}  // namespace ioc_exporter::records
