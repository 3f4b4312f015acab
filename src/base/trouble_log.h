// TroubleLog: the same trouble is logged once, and again only after it was gone.
#pragma once

#include <map>
#include <string>

#include "base/result.h"

namespace ioc_exporter {

// Not thread-safe.
class TroubleLog {
 public:
  // `action` names what was tried: "read the counts of puts". Whether it went well.
  bool report(const std::string& action, const Result<void>& result);

 private:
  std::map<std::string, std::string> reported_;  // action -> text
};

}  // namespace ioc_exporter
