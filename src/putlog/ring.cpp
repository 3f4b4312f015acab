#include "putlog/ring.h"

template class ioc_exporter::delivery::Ring<ioc_exporter::putlog::RingOfPuts>;
