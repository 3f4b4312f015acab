// Reader processes, on the side of the process that forks them. A reader answers requests
// (reader_wire.h) until its socket is closed, and may be killed at any moment.
#pragma once

#include <cstdint>
#include <functional>

#include "base/helper.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace ioc_exporter::iocs {

enum class ReaderProcessRequest : std::uint32_t {
  fork = 48,  // with a descriptor: the reader's socket; answer: a pidfd
  kill,       // with a descriptor: the pidfd
};
inline bool is_reader_request(const HelperRequest& request) {
  return request.what == static_cast<std::uint32_t>(ReaderProcessRequest::fork) ||
         request.what == static_cast<std::uint32_t>(ReaderProcessRequest::kill);
}

// In the helper process. `confine` is called in the reader, before it reads anything; null: nothing
// is given up.
Result<UniqueFd> serve_reader_request(const HelperRequest& request, const UniqueFd& file,
                                      const std::function<Result<void>()>& confine);

}  // namespace ioc_exporter::iocs
