#include "exposition/self_samples.h"

#include <iterator>
#include <utility>

namespace ioc_exporter {
namespace {

template <class Sample>
void append_all(std::vector<Sample>& to, std::vector<Sample>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

// Not in the header: every file that knows a collector would compile it.
void SelfSamples::add(SelfSamples more) {
  append_all(probes, more.probes);
  append_all(maps, more.maps);
  add(more.drops);
  append_all(limited, more.limited);
  append_all(ioc_overhead, more.ioc_overhead);
  append_all(states, more.states);
  append_all(families, more.families);
  if (more.kernel_memory) kernel_memory = more.kernel_memory;
}

void SelfSamples::add(const Drops& more) {
  for (const auto& [reason, count] : more) drops[reason] += count;
}

}  // namespace ioc_exporter
