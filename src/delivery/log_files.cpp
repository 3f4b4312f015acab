#include "delivery/log_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "base/owned_file.h"

namespace ioc_exporter::delivery {

OpenLog LogFiles::add(LogFile file) {
  add_folder(file.path.substr(0, std::max<std::size_t>(1, file.path.rfind('/'))));
  files_.push_back(std::move(file));
  return [this, number = files_.size() - 1](bool rotate) {
    return ask(static_cast<std::uint32_t>(rotate ? Ask::rotate : Ask::open), number);
  };
}

Result<UniqueFd> LogFiles::ask(std::uint32_t what, std::size_t number) {
  HelperRequest request;
  request.what = what;
  request.number = static_cast<std::uint32_t>(number);
  return helper_ ? helper_->ask(request) : serve(request, UniqueFd());
}

Result<UniqueFd> LogFiles::serve(const HelperRequest& request, const UniqueFd& none) {
  const auto what = static_cast<Ask>(request.what);
  if (what >= Ask::others && serve_others_) return serve_others_(request, none);
  if (what != Ask::open && what != Ask::rotate) return error_in_words(log_ + ": no such request");
  if (request.number >= files_.size()) return error_in_words(log_ + ": there is no such file");
  const LogFile& file = files_[request.number];
  return what == Ask::open ? open_log(file) : rotate_log(file);
}

Result<uid_t> LogFiles::owner() const {
  std::optional<uid_t> owner;
  for (const std::string& path : folders_) {
    const auto folder = open_owned_folder(path);
    if (!folder) return folder.error();
    struct stat status {};
    if (::fstat(folder->get(), &status) != 0) return last_error("look at " + path);
    if (owner.value_or(status.st_uid) != status.st_uid)
      return error_in_words(log_ + ": " + path + " belongs to another user than " +
                            folders_.front());
    owner = status.st_uid;
  }
  if (!owner) return error_in_words(log_ + ": there are no files");
  return *owner;
}

}  // namespace ioc_exporter::delivery
