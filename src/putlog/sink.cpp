#include "putlog/sink.h"

template class ioc_exporter::delivery::SinkRunner<ioc_exporter::putlog::PutKind>;
