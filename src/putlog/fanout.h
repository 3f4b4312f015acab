// Fanout: gives events to the memory of the newest ones and to all sinks, in order. It waits for
// none of them.
#pragma once

#include <memory>
#include <vector>

#include "putlog/privacy.h"
#include "putlog/ring.h"
#include "putlog/sink.h"

namespace ioc_exporter::putlog {

class Fanout : public PutReceiver {
 public:
  // What `privacy` hides is hidden from all of them. `ring` must outlive this.
  Fanout(Privacy privacy, Ring& ring, std::vector<SinkSetup> sinks);
  // Gives the sinks what waits, for a while: all at the same time.
  ~Fanout() override;

  void receive(std::span<const PutEvent> events) override;
  // In any thread.
  std::vector<SinkSample> samples() const;

 private:
  Privacy privacy_;
  Ring& ring_;
  std::vector<std::unique_ptr<SinkRunner>> sinks_;
};

}  // namespace ioc_exporter::putlog
