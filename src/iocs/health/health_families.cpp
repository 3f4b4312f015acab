#include "iocs/health/health_families.h"

#include <array>
#include <optional>
#include <string_view>

#include "exposition/number_text.h"

namespace ioc_exporter::iocs {
namespace {

constexpr exposition::Family kCpu{
    "epics_ioc_cpu_seconds_total", exposition::FamilyType::counter,
    "CPU time of the IOC's process since its start, user and system, by what its "
    "threads are for; ended: of threads that have ended meanwhile."};
constexpr exposition::Family kThreads{"epics_ioc_threads", exposition::FamilyType::gauge,
                                      "Threads of the IOC's process by what they are for."};
constexpr exposition::Family kSpinning{
    "epics_ioc_threads_spinning", exposition::FamilyType::gauge,
    "Threads of the IOC that did not rest since the look before: more than "
    "90 % of the time they ran or waited for a CPU."};
constexpr exposition::Family kResident{"epics_ioc_resident_memory_bytes",
                                       exposition::FamilyType::gauge,
                                       "Resident memory of the IOC's process."};
constexpr exposition::Family kOpenFds{"epics_ioc_open_fds", exposition::FamilyType::gauge,
                                      "Open file descriptors of the IOC's process."};
constexpr exposition::Family kMaxFds{"epics_ioc_max_fds", exposition::FamilyType::gauge,
                                     "Limit of the IOC's process for open file descriptors."};
constexpr exposition::Family kRestarts{
    "epics_ioc_restarts_total", exposition::FamilyType::counter,
    "Times that an IOC of this name came again after it had ended."};

// By ThreadClass.
constexpr std::array<std::string_view, kThreadClasses> kClassNames{"scan", "callback", "once", "ca",
                                                                   "pva",  "main",     "other"};

exposition::EncodedLabels labels_of(const IocFacts& ioc, std::string_view thread_class,
                                    exposition::Encoder& encoder) {
  return encoder.labels({{"ioc", ioc.name}, {"thread_class", thread_class}});
}

// One gauge a running IOC; what `value` does not know is left out.
template <class Value>
void encode_each(const exposition::Family& family, const std::vector<const IocFacts*>& iocs,
                 exposition::Encoder& encoder, Value value) {
  encoder.begin_family(family);
  for (const IocFacts* ioc : iocs) {
    if (!ioc->health) continue;
    if (const std::optional<std::uint64_t> known = value(*ioc->health))
      encoder.count(encoder.labels({{"ioc", ioc->name}}), *known);
  }
}

void encode_cpu(const IocFacts& ioc, exposition::Encoder& encoder) {
  const exposition::CounterFacts facts{.created_seconds = ioc.start_time_seconds};
  for (std::size_t i = 0; i < kThreadClasses; ++i)
    encoder.number(labels_of(ioc, kClassNames[i], encoder),
                   exposition::seconds_from_ns(ioc.health->cpu_ns[i]), facts);
  encoder.number(labels_of(ioc, "ended", encoder),
                 exposition::seconds_from_ns(ioc.health->ended_cpu_ns), facts);
}

}  // namespace

void encode_health(const std::vector<const IocFacts*>& iocs, exposition::Encoder& encoder) {
  encoder.begin_family(kCpu);
  for (const IocFacts* ioc : iocs)
    if (ioc->health) encode_cpu(*ioc, encoder);
  encoder.begin_family(kThreads);
  for (const IocFacts* ioc : iocs)
    for (std::size_t i = 0; ioc->health && i < kThreadClasses; ++i)
      encoder.count(labels_of(*ioc, kClassNames[i], encoder), ioc->health->threads[i]);
  encode_each(kSpinning, iocs, encoder, [](const HealthSample& health) { return health.spinning; });
  encode_each(kResident, iocs, encoder,
              [](const HealthSample& health) { return health.resident_bytes; });
  encode_each(kOpenFds, iocs, encoder, [](const HealthSample& health) { return health.open_fds; });
  encode_each(kMaxFds, iocs, encoder, [](const HealthSample& health) { return health.max_fds; });
  encoder.begin_family(kRestarts);
  for (const IocFacts* ioc : iocs)
    if (!ioc->only_up) encoder.count(encoder.labels({{"ioc", ioc->name}}), ioc->restarts);
}

}  // namespace ioc_exporter::iocs
