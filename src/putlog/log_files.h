// The put log's files, PATH and the older ones PATH.1 to PATH.N, as a command reads them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "putlog/put_query.h"

namespace ioc_exporter::putlog {

struct FilesRead {
  std::string reach;  // time of the first line; "" = there may be older ones, or none was read
  std::uint64_t unlike = 0;  // lines that are no puts
};
// Calls `take` with each line that the query wants, in the order of the files, until it returns
// false. Each line is reported once, also where the exporter renames its files meanwhile.
Result<FilesRead> read_log_files(const std::string& path, const PutQuery& query,
                                 const std::function<bool(std::string_view line)>& take);

}  // namespace ioc_exporter::putlog
