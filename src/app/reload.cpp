#include "app/reload.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/time_text.h"
#include "web/web_config.h"

namespace ioc_exporter::app {
namespace {

constexpr std::chrono::seconds kWebCheckInterval{1};

// Settings that only a restart changes, as text.
std::string text_of(const iocs::Options& iocs) {
  std::string text;
  for (const auto& pattern : {iocs.filter.include, iocs.filter.exclude})
    text.append(pattern ? pattern->text() : "").append(1, '\n');
  for (const iocs::NameSource& source : iocs.name_sources)
    text.append(source.text()).append(1, '\n');
  return text;
}

// One log line for each problem.
void log_lines(const std::string& file, const std::string& problems) {
  log::error("load {}: it is wrong, the old configuration stays in force", file);
  for (std::size_t at = 0; at <= problems.size();) {
    const std::size_t end = std::min(problems.find('\n', at), problems.size());
    log::error("{}", problems.substr(at, end - at));
    at = end + 1;
  }
}

}  // namespace

Reload::Reload(const Options& options, const Options& in_use)
    : options_(options), iocs_(text_of(in_use.iocs)), success_time_(now_seconds()) {}

void Reload::connect(Users users) {
  const std::scoped_lock lock(mutex_);
  users_ = std::move(users);
  report();
}

Reload::Stamp Reload::stamp_of(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {};
  return {found.st_dev, found.st_ino, found.st_size,
          std::int64_t{found.st_mtim.tv_sec} * 1'000'000'000 + found.st_mtim.tv_nsec};
}

void Reload::report() {
  if (!users_.report) return;
  users_.report({site_good_ && web_good_, success_time_,
                 tls_ ? std::optional(tls_->expires_seconds()) : std::nullopt});
}

std::vector<Reload::Stamp> Reload::web_stamps() const {
  std::vector<Stamp> stamps = {stamp_of(options_.web.config_file)};
  for (const std::string& file : tls_files_) stamps.push_back(stamp_of(file));
  return stamps;
}

Result<void> Reload::open_web() {
  const std::scoped_lock lock(mutex_);
  auto opened = read_web();
  opened_ = true;
  return opened;
}

Result<void> Reload::read_web() {
  if (options_.web.config_file.empty()) return {};
  // Before the files: a change in between is seen at the next check.
  web_stamps_ = web_stamps();
  auto rules = web::read_web_config(options_.web.config_file);
  const Result<void> used = rules ? use_web(std::move(*rules)) : rules.error();
  web_good_ = used.ok();
  return used;
}

Result<void> Reload::use_web(web::WebConfig rules) {
  // It may be half-written, or have been emptied by a full disk.
  if (rules.users.empty() && asks_for_passwords_)
    return error_in_words(
        options_.web.config_file +
        ": basic_auth_users has no users any more, so that nobody would be asked for a password: "
        "restart ioc_exporter if that is meant");
  if (opened_ && rules.tls.has_value() != speaks_tls_)
    return error_in_words(options_.web.config_file + ": tls_server_config has " +
                          (speaks_tls_ ? "gone" : "come") +
                          ": restart ioc_exporter if that is meant");
  if (rules.tls) {
    // Its files, though they may be wrong: it is tried again when one of them is another one.
    tls_files_ = rules.tls->files();
    const Stamp config = web_stamps_.front();
    web_stamps_ = web_stamps();
    web_stamps_.front() = config;
    auto tls = web::Tls::load(*rules.tls);
    if (!tls)
      return error_in_words(options_.web.config_file +
                            ": tls_server_config: " + tls.error().message());
    {
      const std::scoped_lock lock(tls_mutex_);
      tls_ = std::move(*tls);
    }
    speaks_tls_ = true;
  }
  for (const std::string& line : rules.gone) log::warn("{}", line);
  asks_for_passwords_ = !rules.users.empty();
  access_.use(std::move(rules));
  return {};
}

Result<void> Reload::read_site() {
  const auto site = site_config(options_);
  site_good_ = site.ok();
  if (!site) return site.error();
  if (text_of(site->options.iocs) != iocs_)
    log::warn(
        "load {}: the section iocs has changed, which is used at the start only: restart "
        "ioc_exporter for it",
        options_.config_file);
  if (users_.use) users_.use(*site);
  return {};
}

Result<void> Reload::reload() {
  const std::scoped_lock lock(mutex_);
  if (users_.begins) users_.begins();
  struct End {
    const Users& users;
    ~End() {
      if (users.ends) users.ends();
    }
  } const end{users_};
  std::string problems;
  const auto note = [&problems](const std::string& file, const Result<void>& result) {
    if (result) return;
    log_lines(file, result.error().message());
    if (!problems.empty()) problems.append(1, '\n');
    problems.append(result.error().message());
  };
  note(options_.config_file, read_site());
  note(options_.web.config_file, read_web());
  if (problems.empty()) success_time_ = now_seconds();
  report();
  if (!problems.empty()) return error_in_words(problems);
  log::info("reloaded the configuration");
  return {};
}

void Reload::check_web(Clock::time_point now) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || options_.web.config_file.empty() || now < next_check_) return;
  next_check_ = now + kWebCheckInterval;
  if (web_stamps() == web_stamps_) return;
  if (const auto result = read_web(); !result)
    log_lines(options_.web.config_file, result.error().message());
  else
    log::info("reloaded {}", options_.web.config_file);
  if (web_good_ && site_good_) success_time_ = now_seconds();
  report();
}

std::shared_ptr<const web::Tls> Reload::tls() {
  check_web(Clock::now());
  const std::scoped_lock lock(tls_mutex_);
  return tls_;
}

web::Admission Reload::admit(const web::Request& request) {
  check_web(Clock::now());
  return access_.admit(request);
}

}  // namespace ioc_exporter::app
