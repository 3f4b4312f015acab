#include "app/http_audit.h"

#include <chrono>

#include "base/log.h"
#include "base/utf8.h"

namespace ioc_exporter::app {
namespace {

constexpr const char* kScrape = "/metrics";  // whatever --web.telemetry-path is
constexpr std::size_t kLongestPath = 100;    // bytes, of a line in the log

std::string more_before(std::uint64_t left_out) {
  return left_out == 0 ? "" : "; " + std::to_string(left_out) + " more before were not logged";
}

}  // namespace

HttpAudit::HttpAudit() {
  counts_.answered[kScrape] = 0;
}

void HttpAudit::refused(const web::Request& request, const std::string& reason) {
  std::uint64_t left_out = 0;
  {
    const std::scoped_lock lock(mutex_);
    ++counts_.refused[reason];
    LogBound& lines = lines_.try_emplace(reason, kMostLines).first->second;
    if (!lines.allows(LogBound::Clock::now())) return;
    left_out = lines.take_left_out();
  }
  log::warn("refused {} {} from {}: {}{}", request.method,
            printable_utf8(request.path, kLongestPath), request.remote, reason,
            more_before(left_out));
}

void HttpAudit::acted(const web::Request& request, const std::string& user) {
  std::uint64_t left_out = 0;
  {
    const std::scoped_lock lock(mutex_);
    ++counts_.answered[request.path];
    LogBound& lines = lines_.try_emplace(request.path, kMostLines).first->second;
    if (!lines.allows(LogBound::Clock::now())) return;
    left_out = lines.take_left_out();
  }
  log::info("{} {} from {}{}{}", request.method, request.path, request.remote,
            user.empty() ? "" : ", user " + user, more_before(left_out));
}

void HttpAudit::scraped() {
  const std::scoped_lock lock(mutex_);
  ++counts_.answered[kScrape];
}

HttpSample HttpAudit::sample() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

}  // namespace ioc_exporter::app
