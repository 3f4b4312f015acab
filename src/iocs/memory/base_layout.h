// Structs of EPICS Base as they lie in an LP64 IOC's memory, the same from 3.14.12 to 7.0.10:
// ellLib.h, dbBase.h, dbAddr.h. Pointers are the IOC's addresses. Ends of structs that differ are
// left out.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace ioc_exporter::iocs::layout {

using Address = std::uint64_t;

struct EllNode {
  Address next;
  Address previous;
};

struct EllList {
  Address first;
  Address last;
  std::int32_t count;
  std::int32_t pad;
};
static_assert(sizeof(EllList) == 24);

struct DbBase {
  EllList menu_list;
  EllList record_type_list;
};
static_assert(offsetof(DbBase, record_type_list) == 24);

struct DbMenu {
  EllNode node;
  Address name;  // char *
  std::int32_t choices;
  std::int32_t pad;
  Address choice_names;
  Address values;  // char **, one for each choice
};
static_assert(offsetof(DbMenu, values) == 40);

struct DbRecordType {
  EllNode node;
  EllList attribute_list;
  EllList rec_list;
  EllList dev_list;
  EllList cdef_list;
  Address name;  // char *
  std::int16_t no_fields;
  std::int16_t no_prompt;
  std::int16_t no_links;
  std::int16_t no_aliases;
  Address link_ind;  // short *, no_links indices of fld_des
  Address sort_fld_name;
  Address sort_fld_ind;
  Address val_fld_des;
  std::int16_t ind_val_fld_des;
  std::int16_t pad[3];
  Address fld_des;  // dbFldDes **, no_fields of them
  Address prset;    // null: no record support is registered
  std::int32_t rec_size;
  std::int32_t pad2;
};
static_assert(offsetof(DbRecordType, rec_list) == 40);
static_assert(offsetof(DbRecordType, name) == 112);
static_assert(offsetof(DbRecordType, no_fields) == 120);
static_assert(offsetof(DbRecordType, link_ind) == 128);
static_assert(offsetof(DbRecordType, fld_des) == 168);
static_assert(offsetof(DbRecordType, rec_size) == 184);

struct DbRecordNode {
  EllNode node;
  Address precord;
  Address record_name;
  EllList info_list;
  std::int32_t flags;
  std::int32_t pad;
};
static_assert(offsetof(DbRecordNode, flags) == 56);
inline constexpr std::int32_t kFlagIsAlias = 2;  // DBRN_FLAGS_ISALIAS

struct DbFldDes {
  Address prompt;
  Address name;  // char *
  Address extra;
  Address record_type;
  std::int16_t ind_record_type;
  std::int16_t special;
  std::int32_t field_type;
  std::uint32_t bits;
  std::int32_t number_base;
  std::int16_t prompt_group;
  std::int16_t interest;
  std::int32_t as_level;
  Address initial;
  Address ft_pvt;
  std::int16_t size;
  std::uint16_t offset;  // 0 until the record support registered
  std::int32_t pad;
};
static_assert(offsetof(DbFldDes, name) == 8);
static_assert(offsetof(DbFldDes, size) == 72);
static_assert(offsetof(DbFldDes, offset) == 74);

inline constexpr std::size_t kRecordNameSize = 61;  // dbCommon.name, at offset 0

// Values of dbFldTypes.h and special.h.
inline constexpr std::int16_t kDbfString = 0;
inline constexpr std::int16_t kDbfChar = 1;
inline constexpr std::int16_t kDbfInLink3_14 = 12;  // in 3.14 only: later there are more types
inline constexpr std::int16_t kDbfFwdLink3_14 = 14;
inline constexpr std::int16_t kOldDbrChar =
    4;                                        // of db_access.h: rsrv keeps those of the CA protocol
inline constexpr std::int16_t kSpcNoMod = 1;  // a field that nobody may write to

struct DbAddr {
  Address record;  // struct dbCommon *
  Address field;
  Address description;  // dbFldDes *
  std::int64_t no_elements;
  std::int16_t field_type;
  std::int16_t field_size;
  std::int16_t special;
  std::int16_t dbr_field_type;
};
static_assert(sizeof(DbAddr) == 40);

// Structs of EPICS Base's scan lists, callback queues and threads as they lie in an LP64 IOC's
// memory: dbScan.c, callback.c, epicsRingPointer.h, epicsRingBytes.c, posix/osdThread.h. What
// differs between versions says which have it.
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
