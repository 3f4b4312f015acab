// What the threads of IOCs did: the counts that the record programs keep in each thread's stack,
// summed by IOC and cause.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "records/process_object.h"
#include "shared/record_process.h"

namespace ioc_exporter::records {

// Times that the IOC's threads came by a probe.
struct ProbeHits {
  std::uint64_t entries = 0;  // entry probes, of all functions
  std::uint64_t returns = 0;  // return probes
};

// Sums over all threads of one IOC, those that have ended included.
struct IocCounts {
  ProbeHits hits;
  std::uint64_t timed = 0;                      // processings whose duration was measured
  std::map<std::string, std::uint64_t> causes;  // processings by cause_label(); no zeros
  // Changes of a record's severity, by the new one (menuAlarmSevr). Each is seen when the record is
  // processed the next time.
  std::array<std::uint64_t, IOCX_SEVERITIES> transitions{};
};

// "scan_0.1", "callback", "ca", ...; `comm` is the thread's name.
std::string cause_label(std::uint32_t cause, const char (&comm)[IOCX_COMM_LEN]);

// Adds what the thread counted.
void add_thread(IocCounts& into, const iocx_thread& thread);

// Calls each() for every thread that has a stack. The frames, most of its size, are there only on
// demand.
enum class Frames { left_out, read };
Result<void> for_each_thread(const RecordProcessObject& object, Frames frames,
                             const std::function<void(const iocx_thread&)>& each);

// Frees the stacks of the threads that are gone, and calls ended() for each before that.
Result<void> free_ended_threads(const RecordProcessObject& object,
                                const std::function<bool(std::int32_t, std::int32_t)>& alive,
                                const std::function<void(const iocx_thread&)>& ended);

}  // namespace ioc_exporter::records
