#include "app/runbooks.h"

namespace ioc_exporter::app {
namespace {

constexpr Runbook kRunbooks[] = {
#include "runbooks.inc"
};

}  // namespace

std::span<const Runbook> runbooks() {
  return kRunbooks;
}

}  // namespace ioc_exporter::app
