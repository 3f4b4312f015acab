// Access: passwords and headers of answers: the rules of --web.config.file, which may change while
// the server runs.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "web/basic_auth.h"
#include "web/message.h"
#include "web/web_config.h"

namespace ioc_exporter::web {

// In any thread.
class Access {
 public:
  explicit Access(WebConfig rules = {});

  // What is known of passwords stays known while the users stay the same.
  void use(WebConfig rules);
  // Whether admit() answers at once, without the check of a password.
  bool knows(const Request& request) const;
  Admission admit(const Request& request) const;
  std::map<std::string, std::string> headers() const;

 private:
  std::shared_ptr<BasicAuth> auth() const;

  mutable std::mutex mutex_;
  WebConfig rules_;
  std::shared_ptr<BasicAuth> auth_;
};

}  // namespace ioc_exporter::web
