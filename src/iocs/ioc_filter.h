// IocFilter: --ioc.include and --ioc.exclude.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace ioc_exporter::iocs {

// RE2 expressions that must match an IOC's whole name (before a pid is added to make it unique). An
// empty `include` takes all, an empty `exclude` none; exclude wins.
class IocFilter {
 public:
  IocFilter() = default;
  // The error names the option, the expression and what RE2 says about it.
  static Result<IocFilter> create(const std::string& include, const std::string& exclude);

  bool wants(std::string_view name) const;

 private:
  std::shared_ptr<const re2::RE2> include_;
  std::shared_ptr<const re2::RE2> exclude_;
};

}  // namespace ioc_exporter::iocs
