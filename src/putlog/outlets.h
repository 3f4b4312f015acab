// Outlets: all that events go to, as the options say: the memory of the newest, files, receivers.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/helper.h"
#include "delivery/log_files.h"
#include "putlog/fanout.h"
#include "putlog/file_sink.h"
#include "putlog/outlet_options.h"
#include "putlog/privacy.h"
#include "putlog/store.h"

namespace ioc_exporter::putlog {

class Outlets : public PutReceiver {
 public:
  // `version`: of this exporter, for those who are sent puts. Reads the salt, and logins. Opens no
  // files yet.
  static Result<std::unique_ptr<Outlets>> make(const OutletOptions& options,
                                               const std::string& version);
  ~Outlets() override { ring_->end(); }

  void receive(std::span<const PutEvent> events) override { fanout_->receive(events); }
  const std::shared_ptr<Ring>& ring() const { return ring_; }
  // What hides users as events have them, for who tells of users elsewhere.
  Privacy privacy_of_users() const { return Privacy({}, salt_); }
  const std::shared_ptr<Store>& store() const { return store_; }  // once files are open; null: none
  // In any thread.
  std::vector<SinkSample> samples() const;

  // Files are opened here, by this process or by a helper of it.
  bool has_files() const { return !files_.empty() || !store_options_.store.empty(); }
  // Makes their folders where they are missing; whom they belong to. The error: to several.
  Result<uid_t> owner_of_files() const;
  Result<UniqueFd> serve(const HelperRequest& request, const UniqueFd& none) {  // in the helper
    return files_.serve(request, none);
  }
  void use_helper(std::shared_ptr<Helper> helper) { files_.use_helper(std::move(helper)); }
  // Before the first event, so that what is wrong is told at the start.
  Result<void> open_files();

 private:
  explicit Outlets(const OutletOptions& options);

  Result<std::unique_ptr<Sink>> make_sink(const SinkOptions& options, const std::string& version);
  Result<UniqueFd> serve_other(const HelperRequest& request) const;
  Result<void> open_store();

  std::optional<std::string> salt_;
  std::shared_ptr<Ring> ring_;  // who follows has a part in it
  delivery::LogFiles files_{PutKind::kLog, [this](const HelperRequest& request, const UniqueFd&) {
                              return serve_other(request);
                            }};
  std::vector<FileSink*> file_sinks_;  // that the fanout has
  SinkOptions store_options_;
  std::shared_ptr<Store> store_;    // who asks has a part in it
  std::unique_ptr<Fanout> fanout_;  // last: its threads use the others
};

}  // namespace ioc_exporter::putlog
