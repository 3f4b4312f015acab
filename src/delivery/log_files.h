// LogFiles: the files that sinks write to. They are opened here, by this process or by a helper of
// it, which keeps the right to do so.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/helper.h"
#include "delivery/log_file.h"

namespace ioc_exporter::delivery {

class LogFiles {
 public:
  // What the helper is asked for; the file's number stands in `number`. From `others` on: what its
  // owner has of its own.
  enum class Ask : std::uint32_t { open = 1, rotate, others };

  // `log`: how errors begin. `serve_others`: in the helper.
  explicit LogFiles(std::string log, Helper::Serve serve_others = {})
      : log_(std::move(log)), serve_others_(std::move(serve_others)) {}
  LogFiles(const LogFiles&) = delete;
  LogFiles& operator=(const LogFiles&) = delete;

  // What it returns refers to this.
  OpenLog add(LogFile file);
  void add_folder(std::string folder) { folders_.push_back(std::move(folder)); }
  bool empty() const { return folders_.empty(); }

  Result<UniqueFd> serve(const HelperRequest& request, const UniqueFd& none);  // in the helper
  void use_helper(std::shared_ptr<Helper> helper) { helper_ = std::move(helper); }
  Result<UniqueFd> ask(std::uint32_t what, std::size_t number = 0);

  // Makes the folders where they are missing; whom they belong to. The error: to several.
  Result<uid_t> owner() const;

 private:
  const std::string log_;
  const Helper::Serve serve_others_;
  std::vector<LogFile> files_;
  std::vector<std::string> folders_;  // of the files, and those that were added
  std::shared_ptr<Helper> helper_;
};

}  // namespace ioc_exporter::delivery
