// Reload: the configuration files in use, and their replacement by newer ones. A wrong file leaves
// the old configuration in force. Passwords, once required, stay required until the end.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/options.h"
#include "app/self_families.h"
#include "app/site_config.h"
#include "base/result.h"
#include "web/access.h"
#include "web/tls.h"
#include "web/web_config.h"

namespace ioc_exporter::app {

class Reload {
 public:
  using Clock = std::chrono::steady_clock;
  struct Users {
    std::function<void(const SiteSettings&)> use;  // called with each good configuration
    std::function<void(ConfigSample)> report;      // how the last attempt went, for /metrics
    std::function<void()> begins = {}, ends = {};  // around each attempt, whatever its result
  };

  // `options`: by the flags. `in_use`: with the file, as read at the start.
  Reload(const Options& options, const Options& in_use);

  // Reads the file of --web.config.file for the first time. The error is that file's.
  Result<void> open_web();
  // From now on these get the result. They must outlive this.
  void connect(Users users);

  // Reads all files again, and logs the result. The error has one line for each problem.
  Result<void> reload();

  // For web::ServerOptions. A file of --web.config.file that has changed is read first; while
  // another thread reads, the old rules hold.
  web::Admission admit(const web::Request& request);
  bool knows(const web::Request& request) const { return access_.knows(request); }
  std::map<std::string, std::string> headers() const { return access_.headers(); }
  // Whether the file of --web.config.file asks for TLS: said by open_web() once and for all.
  bool speaks_tls() const { return speaks_tls_; }
  // TLS context for a new connection. Files that have changed are read first.
  std::shared_ptr<const web::Tls> tls();

 private:
  // Identity of a file's content; all 0 when it has none.
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  static Stamp stamp_of(const std::string& path);
  // Stamps of that file, and of those that it names.
  std::vector<Stamp> web_stamps() const;

  Result<void> read_site();
  Result<void> read_web();
  Result<void> use_web(web::WebConfig rules);
  void check_web(Clock::time_point now);
  void report();

  Options options_;
  Users users_;
  web::Access access_;
  std::mutex mutex_;  // held while files are read, which may take for ever
  std::string iocs_;  // the section that is used at the start only, as text
  std::vector<Stamp> web_stamps_;
  std::vector<std::string> tls_files_;
  std::mutex tls_mutex_;
  std::shared_ptr<const web::Tls> tls_;  // in use; under both
  bool opened_ = false, speaks_tls_ = false;
  Clock::time_point next_check_{};
  bool site_good_ = true, web_good_ = true;
  bool asks_for_passwords_ = false;
  double success_time_;
};

}  // namespace ioc_exporter::app
