// Outlets: all that events go to, as the options say: the memory of the newest, files, receivers,
// the store.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "delivery/outlets.h"
#include "putlog/outlet_options.h"
#include "putlog/privacy.h"
#include "putlog/ring.h"
#include "putlog/sink.h"
#include "putlog/store.h"

namespace ioc_exporter::putlog {

class Outlets : public PutReceiver, public delivery::Outlets<PutKind> {
 public:
  // `version`: of this exporter, for those who are sent puts. Reads the salt, and logins. Opens no
  // files yet.
  static Result<std::unique_ptr<Outlets>> make(const OutletOptions& options,
                                               const std::string& version);
  // What `privacy` hides is hidden from memory and all sinks.
  Outlets(Privacy privacy, delivery::RingBounds bounds);
  ~Outlets() override;

  void receive(std::span<const PutEvent> events) override;
  const std::shared_ptr<Ring>& ring() const { return ring_; }
  // What hides users as events have them, for who tells of users elsewhere.
  Privacy privacy_of_users() const { return privacy_.of_users(); }
  const std::shared_ptr<Store>& store() const { return store_; }  // once files are open; null: none
  // In any thread.
  std::vector<SinkSample> samples() const;

  Result<void> open_files();  // the store's, too

 private:
  Result<std::unique_ptr<Sink>> make_sink(const SinkOptions& options, const std::string& version);
  Result<UniqueFd> serve_store(const HelperRequest& request) const;
  Result<void> open_store();

  Privacy privacy_;
  std::shared_ptr<Ring> ring_;  // who follows has a part in it
  SinkOptions store_options_;
  std::shared_ptr<Store> store_;  // who asks has a part in it
};

}  // namespace ioc_exporter::putlog
