// Files that the exporter writes, opened so that nobody else can put another one in their place.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace ioc_exporter {

// Its owner's only to write to: nobody else can put a file in another's place. Also for files.
Result<void> check_owned(int fd, const std::string& path);

// A folder, made where it is missing (its last part only), with mode 0750; its owner's only to
// write to.
Result<UniqueFd> open_owned_folder(const std::string& path);

// A regular file with one name, made where it is missing, mode 0640, for reading and writing.
// `folder` is open; `path` is for errors. `flags`: more of them.
Result<UniqueFd> open_owned_file(int folder, const std::string& path, const char* name,
                                 int flags = 0);

}  // namespace ioc_exporter
