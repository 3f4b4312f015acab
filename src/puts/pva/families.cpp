#include "puts/pva/families.h"

#include <utility>

#include "puts/totals/put_families.h"

namespace ioc_exporter::pva {
void encode_pva(const PvaSamples& samples, exposition::Encoder& encoder,
                exposition::SharedFamilies& shared) {
  ca::add_puts(samples.puts, encoder, shared);
  ca::add_put_failures(samples.failures, encoder, shared);
}

}  // namespace ioc_exporter::pva
