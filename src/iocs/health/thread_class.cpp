#include "iocs/health/thread_class.h"

#include <array>

namespace ioc_exporter::iocs {
namespace {

struct Start {
  std::string_view text;
  ThreadClass thread_class;
};

// dbScan.c, callback.c, rsrv's caservertask.c and libca (Base 3.15 to 7.0), pvAccessCPP's
// transports, pvxs' event loops.
constexpr std::array kStarts{
    Start{"scan-", ThreadClass::scan},        Start{"cbLow", ThreadClass::callback},
    Start{"cbMedium", ThreadClass::callback}, Start{"cbHigh", ThreadClass::callback},
    Start{"scanOnce", ThreadClass::once},     Start{"CAS-", ThreadClass::ca},
    Start{"CAC-", ThreadClass::ca},           Start{"dbCaLink", ThreadClass::ca},
    Start{"PVX", ThreadClass::pva},           Start{"TCP-", ThreadClass::pva},
    Start{"UDP-", ThreadClass::pva},
};

}  // namespace

ThreadClass thread_class_of(std::string_view comm) {
  for (const Start& start : kStarts)
    if (comm.starts_with(start.text)) return start.thread_class;
  return ThreadClass::other;
}

}  // namespace ioc_exporter::iocs
