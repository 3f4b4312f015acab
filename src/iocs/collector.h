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
  void collect(exposition::Page& page) override;
  void status(exposition::StatusPage& page) override;

 private:
  using Lives = std::map<IocId, std::uint64_t>;  // with their serial

  std::map<IocId, HealthSample> look(const Lives& live);

  Host& host_;
  std::mutex looking_;  // never with the host's: an IOC may have many threads and descriptors
  IocHealth health_;
  Lives looked_at_;
};

}  // namespace ioc_exporter::iocs
