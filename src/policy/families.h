// Families about what the site's policy says of puts.
#pragma once

#include "exposition/encoder.h"
#include "base/samples.h"

namespace ioc_exporter::policy {

void encode_policy(const Snapshot& snapshot, exposition::Encoder& encoder);

}  // namespace ioc_exporter::policy
