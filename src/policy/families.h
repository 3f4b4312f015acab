// Families about what the site's policy says of puts.
#pragma once

#include "exposition/encoder.h"
#include "policy/samples.h"

namespace ioc_exporter::policy {

void encode_policy(const PolicySamples& samples, exposition::Encoder& encoder);

}  // namespace ioc_exporter::policy
