// Families about what the site's policy says of puts.
#pragma once

#include "exposition/encoder.h"
#include "policy/samples.h"

namespace ioc_exporter::policy {

// Of puts by Channel Access, and by PV Access.
void encode_policy(const PolicySamples& ca, const PolicySamples& pva, exposition::Encoder& encoder);

}  // namespace ioc_exporter::policy
