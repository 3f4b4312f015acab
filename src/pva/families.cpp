#include "pva/families.h"

#include <utility>

#include "ca/put_families.h"

namespace ioc_exporter::pva {
namespace {

constexpr exposition::Family kPuts{
    kPutsTotal, exposition::FamilyType::counter,
    "PV Access puts that clients asked QSRV in the IOC for. Empty labels: not known."};
constexpr exposition::Family kFailures{
    "epics_pva_put_failures_total", exposition::FamilyType::counter,
    "PV Access puts that the IOC answered with an error, by reason."};
constexpr exposition::Family kLastPut{
    "epics_pva_last_put_timestamp_seconds", exposition::FamilyType::gauge,
    "When the client put to the PV by PV Access last, in seconds since 1970."};

}  // namespace

void encode_pva(const PvaSamples& samples, exposition::Encoder& encoder) {
  ca::encode_put_counts(kPuts, samples.puts, kPutOp, encoder);
  ca::encode_put_failures(kFailures, samples.failures, encoder);
  ca::encode_last_times(kLastPut, samples.puts, encoder);
}

}  // namespace ioc_exporter::pva
