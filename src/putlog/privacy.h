// Privacy: hides parts of an event: the values of some PVs, and the names of users.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/pattern.h"
#include "base/result.h"
#include "putlog/event.h"

namespace ioc_exporter::putlog {

class Privacy {
 public:
  // `hidden`: PVs whose values become "***". `salt`: of the site; nothing: users stay as they are.
  explicit Privacy(std::optional<Pattern> hidden = {}, std::optional<std::string> salt = {});

  // A file's first line, which is at least 16 characters long.
  static Result<std::string> read_salt(const std::string& file);

  // One thread at a time, both.
  void apply(PutEvent& event);
  void hide_user(std::string& user);
  // The same for users, and no values.
  Privacy of_users() const { return Privacy({}, salt_); }

 private:
  const std::string& hashed(const std::string& user);

  std::optional<Pattern> hidden_;
  std::optional<std::string> salt_;
  std::map<std::string, std::string> known_;  // users
};

}  // namespace ioc_exporter::putlog
