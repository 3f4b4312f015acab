// How the probes of one library file are attached: for each of its IOCs alone, or once for all
// processes.
#pragma once

#include <cstddef>

namespace ioc_exporter::records {

enum class Attachment { per_process, all_processes };

// The kernel walks every attachment of an address at each hit, so one attachment a process costs
// every IOC on the file about 100 ns more for each other one that is watched. One for all costs the
// same at any number, but then a process on the file that is not watched pays for the trap too. So:
// per process while few are watched. The gap between the two limits keeps an IOC that restarts from
// switching to and fro.
inline constexpr std::size_t kMostPerProcess = 4;
inline constexpr std::size_t kFewestForAll = 2;  // at this number it is per process again

// An attachment for all cannot leave out an IOC that is paused: then more may be attached alone.
inline constexpr std::size_t kMostBesidePaused = 16;

// `active` IOCs on the file are to be counted, `paused` ones are not. To attach to one process, the
// kernel asks whose memory its main thread has (Linux 5.10 to 6.18): once that thread has ended
// (`one_without_main_thread` of those to be counted) no new breakpoint comes to that process, and
// those that it has go away, with a perf event at the next hit, with a link when any other
// attachment of the address is taken off.
constexpr Attachment choose_attachment(Attachment current, std::size_t active,
                                       std::size_t paused = 0,
                                       bool one_without_main_thread = false) {
  if (one_without_main_thread) return Attachment::all_processes;
  if (paused > 0 && active <= kMostBesidePaused) return Attachment::per_process;
  if (active > kMostPerProcess) return Attachment::all_processes;
  if (active <= kFewestForAll) return Attachment::per_process;
  return current;
}

}  // namespace ioc_exporter::records
