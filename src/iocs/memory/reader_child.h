// What a reader does: it answers requests (reader_wire.h) until nobody asks any more. A process of
// its own, with one thread; it may be ended at any moment.
#pragma once

namespace ioc_exporter::iocs {

// `patient`: of low priority, for what takes its time and is not urgent.
[[noreturn]] void serve_readings(int socket, bool patient);

}  // namespace ioc_exporter::iocs
