// Outlets: all that events go to, as the options say: the memory of the newest and, in the delivery
// process, files and receivers.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "delivery/outlets.h"
#include "putlog/outlet_options.h"
#include "putlog/privacy.h"
#include "putlog/ring.h"
#include "putlog/sink.h"

namespace ioc_exporter::putlog {

class Outlets : public delivery::Outlets<PutKind> {
 public:
  // Reads the salt, and logins. Opens no files.
  static Result<std::unique_ptr<Outlets>> make(const OutletOptions& options);
  // `privacy` applies to memory and all sinks.
  Outlets(Privacy privacy, delivery::RingBounds bounds)
      : privacy_(std::move(privacy)), ring_(std::make_shared<Ring>(bounds)) {}
  ~Outlets() override { ring_->end(); }

  // In order, in one thread. Waits for nothing.
  void receive(std::span<const PutEvent> events);
  const std::shared_ptr<Ring>& ring() const { return ring_; }
  // The first sink that is a file; "": none is.
  const std::string& file() const { return file_; }
  // The part that hashes users, for other places that show them.
  Privacy privacy_of_users() const { return privacy_.of_users(); }
  // In any thread.
  std::vector<SinkSample> samples() const;

 private:
  Result<std::unique_ptr<Sink>> make_sink(const SinkOptions& options);

  Privacy privacy_;
  std::string file_;
  std::shared_ptr<Ring> ring_;  // shared with followers
};

}  // namespace ioc_exporter::putlog
