#include "exposition/self_samples.h"

#include <iterator>
#include <utility>

namespace ioc_exporter {
namespace {

template <class Sample>
void append(std::vector<Sample>& to, std::vector<Sample>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

// Not in the header: every file that knows a collector would compile it.
void SelfSamples::add(SelfSamples more) {
  append(probes, more.probes);
  append(maps, more.maps);
  append(drops, more.drops);
  append(limited, more.limited);
  append(put_sources, more.put_sources);
  append(put_switches, more.put_switches);
  append(states, more.states);
  if (more.kernel_memory) kernel_memory = more.kernel_memory;
}

void SelfSamples::add(std::vector<DropSample> more) {
  append(drops, more);
}

}  // namespace ioc_exporter
