// HttpAudit: counts the requests that the HTTP server refused, and the actions that it was asked
// for, and logs them with user and address. It counts scrapes, too. In any thread.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "app/self_families.h"
#include "base/log.h"
#include "web/message.h"

namespace ioc_exporter::app {

class HttpAudit {
 public:
  HttpAudit();

  // `reason`: web::Response::refused.
  void refused(const web::Request& request, const std::string& reason);
  void acted(const web::Request& request, const std::string& user);
  void scraped();
  HttpSample sample() const;

 private:
  static constexpr std::uint64_t kMostLines = 5;  // a minute, for each reason, and for each action

  mutable std::mutex mutex_;
  HttpSample counts_;
  std::map<std::string, LogBound> lines_;  // by reason; of actions by path
};

}  // namespace ioc_exporter::app
