#include "putlog/ring.h"

#include "putlog/queue.h"

template class ioc_exporter::delivery::Ring<ioc_exporter::putlog::RingOfPuts>;

namespace ioc_exporter::putlog {

std::size_t RingOfPuts::bytes(const PutEvent& event) {
  return footprint(event);
}

}  // namespace ioc_exporter::putlog
