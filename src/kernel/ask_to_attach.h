// Attaching by a helper process, which has the right to do it.
#pragma once

#include <chrono>
#include <string>
#include <utility>

#include "base/helper.h"

namespace ioc_exporter::kernel {

// The kernel takes some milliseconds; the operator's wish to detach waits for this long at most.
inline constexpr std::chrono::milliseconds kAttachPatience{1500};

// The attachment; `file` is the one that the request's offset is in.
inline Result<UniqueFd> ask_to_attach(Helper& helper, const HelperRequest& request, int file) {
  auto attached = helper.ask(request, file, kAttachPatience);
  if (attached && !*attached) return error_in_words("the helper process sent nothing");
  return attached;
}

// Of attaching there. Whoever attached knew the file by a number only.
inline Error attach_error(const std::string& place, const Error& error) {
  const std::string action = "attach uprobe " + place;
  return {error.code, error.code ? action : action + ": " + error.context};
}

}  // namespace ioc_exporter::kernel
