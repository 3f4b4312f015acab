// --check: what works on this host, as a table for people.
#pragma once

#include <string>

#include "app/daemon.h"

namespace ioc_exporter::app {

struct CheckResult {
  std::string text;
  bool complete = false;  // nothing is missing
};

// `daemon` has looked at the host already.
CheckResult check(Daemon& daemon);

}  // namespace ioc_exporter::app
