#include "traces/ring.h"

template class ioc_exporter::delivery::Ring<ioc_exporter::traces::RingOfTraces>;
