// IocsCollector: the IOCs as a whole: that they run, their process, their database by type.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "exposition/collector.h"
#include "iocs/health/exit_watch.h"
#include "iocs/health/health.h"
#include "iocs/host.h"
#include "iocs/iocs_command.h"

namespace ioc_exporter::iocs {

class IocsCollector final : public Collector {
 public:
  // Both must outlive it.
  IocsCollector(Host& host, ExitWatch& exit_watch);

  std::string_view name() const override { return "iocs"; }
  std::vector<ProbeState> probes() const override;
  void follow(TimePoint now) override;
  void collect(exposition::Page& page) override;
  void status(exposition::StatusPage& page) override;

  // The names that the site expects, from now on.
  void expect(std::vector<std::string> names);
  // Which IOCs there are: for ioc_exporter iocs learn.
  IocList list();

 private:
  using Lives = std::map<IocId, std::uint64_t>;  // with their serial

  // Last end of an IOC of this name and user.
  struct Exit {
    std::uint32_t user = 0;
    IocExit exit;
  };

  Lives lives() const;
  std::map<IocId, HealthSample> read_health(const Lives& live);
  // Those that run and those that are gone, with how they ended.
  std::vector<IocFacts> all_facts() const;
  void add_missing(exposition::StatusPage& page, const std::vector<IocFacts>& iocs) const;

  Host& host_;
  mutable std::mutex mutex_;  // of the members down to the next mutex
  ExitWatch& exit_watch_;     // exited_cpu() without it
  std::shared_ptr<const HostView> view_;
  std::map<std::string, Exit> exits_;  // by name, of those that the host knows
  std::vector<std::string> expected_;
  std::mutex health_mutex_;  // never with the other: an IOC may have many threads and descriptors
  IocHealth health_;
  Lives read_;
};

}  // namespace ioc_exporter::iocs
