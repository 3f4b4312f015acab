// Structs of EPICS Base's scan lists, callback queues and threads as they lie in an LP64 IOC's
// memory: dbScan.c, callback.c, epicsRingPointer.h, epicsRingBytes.c, posix/osdThread.h. What
// differs between versions says which have it.
#pragma once

#include <pthread.h>

#include "iocs/memory/base_layout.h"

namespace ioc_exporter::iocs::layout {

struct ScanList {
  Address lock;
  EllList list;
  std::int16_t modified;
  std::int16_t pad[3];
};
static_assert(sizeof(ScanList) == 40);

// The array papPeriodic points to nPeriodic pointers to these; some may be null.
struct PeriodicScanList {
  ScanList scan_list;
  double period;  // seconds
  // Before 3.14.12.4 neither is there: an int scanCtl, which is 0 to 3, stands in place of the
  // name.
  Address name;  // char *, of menuScan
  std::uint64_t overruns;
};
static_assert(offsetof(PeriodicScanList, name) == 48);
inline constexpr std::uint64_t kLargestScanCtl = 3;

// epicsRingPointer before 3.15. One slot stays free.
struct RingPointer3_14 {
  std::int32_t next_push;
  std::int32_t next_pop;
  std::int32_t size;
  std::int32_t pad;
  Address buffer;
};
static_assert(sizeof(RingPointer3_14) == 24);

// epicsRingPointer, and up to its last member also epicsRingBytes.
struct Ring {
  Address lock;
  std::int32_t next_push;
  std::int32_t next_pop;
  std::int32_t size;
  std::int32_t high_water_mark;  // since 3.16.2; before, padding (of epicsRingBytes: data)
  Address buffer;
};
static_assert(offsetof(Ring, high_water_mark) == 20);
inline constexpr std::int32_t kRingBytesSlop = 16;  // of epicsRingBytes, these stay free

// An element of scanOnce's queue since 3.16.1, where that is an epicsRingBytes. Before, it is an
// epicsRingPointer of records.
struct OnceEntry {
  Address record;
  Address callback;
  Address user;
};
static_assert(sizeof(OnceEntry) == 24);

// callbackQueue holds three of these since 3.15.0.1; callbackQ, before, three pointers to rings.
struct CallbackQueue {
  Address wake_up;
  Address ring;
  std::int32_t overflow;   // it is full now
  std::int32_t overflows;  // since 3.16.2
};
static_assert(sizeof(CallbackQueue) == 24);
inline constexpr std::uint64_t kCallbackPriorities = 3;
inline constexpr std::uint64_t kCallbackQueue3_15 = 32;  // bytes of one, up to 3.16.1 and in 7.0.1
inline constexpr std::uint64_t kCallbackQueue7_0 = 40;   // since 3.16.2
inline constexpr std::uint64_t kCallbackQueue7_0_8 = 48;

// In struct epicsThreadOSD, the nodes of pthreadList, these four follow each other. Before them:
// the node, an int refcnt (since 7.0.3.1), tid, an int lwpId (since 3.15), attr, schedParam, two
// pointers and suspendEvent.
struct ThreadState {
  std::int32_t is_suspended;
  std::int32_t is_epics_thread;
  std::int32_t is_real_time;
  std::int32_t is_on_thread_list;
};
inline constexpr std::size_t kThreadState3_14 = 24 + sizeof(pthread_attr_t) + 32;
inline constexpr std::size_t kThreadState3_15 = kThreadState3_14 + 8;
inline constexpr std::size_t kThreadState7_0_3_1 = kThreadState3_14 + 16;

}  // namespace ioc_exporter::iocs::layout
