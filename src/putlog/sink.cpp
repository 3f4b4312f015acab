#include "putlog/sink.h"

template class ioc_exporter::delivery::SinkRunner<ioc_exporter::putlog::PutKind>;
template class ioc_exporter::delivery::SpoolSink<ioc_exporter::putlog::PutKind>;
