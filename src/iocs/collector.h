// IocsCollector: the IOCs as a whole: that they run, their process, their database by type.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "exposition/collector.h"
#include "iocs/health.h"
#include "iocs/host.h"

namespace ioc_exporter::iocs {

class IocsCollector final : public Collector {
 public:
  explicit IocsCollector(Host& host) : host_(host), health_(host.fs()) {}

  std::string_view name() const override { return "iocs"; }
  void follow(TimePoint now) override;
  void collect(exposition::Page& page) override;
  void status(exposition::StatusPage& page) override;

 private:
  Host& host_;
  IocHealth health_;                          // under the host's mutex
  std::map<IocId, std::uint64_t> looked_at_;  // with their serial
};

}  // namespace ioc_exporter::iocs
