// TracesCollector: tells the kernel which chains of records to report, and hands the finished
// traces to their receivers.
//
// A thread of its own takes events out of the ring.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "exposition/collector.h"
#include "exposition/self_samples.h"
#include "putlog/privacy.h"
#include "putlog/ring.h"
#include "puts/collector.h"
#include "records/collector.h"
#include "traces/chain_reader.h"
#include "traces/demand.h"
#include "traces/event_maps.h"
#include "traces/put_values.h"
#include "traces/selectors.h"

namespace ioc_exporter::traces {

class TracesCollector final : public Collector, public DemandTaker, private TraceDirectory {
 public:
  // All must outlive it. `log`: null while the put log is off; `privacy`: of users, as the log has
  // it. `receivers`: those that are null are none.
  TracesCollector(const Options& options, TraceMaps& maps, records::RecordsCollector& records,
                  puts::PutsCollector& puts, std::shared_ptr<putlog::Ring> log,
                  putlog::Privacy privacy, const std::vector<TraceReceiver*>& receivers);
  ~TracesCollector() override;

  std::string_view name() const override { return "traces"; }
  bool is_enabled() const override { return maps_.is_enabled(); }
  std::vector<ProbeState> probes() const override;
  void follow(TimePoint now) override;
  void tick(TimePoint now) override;
  void collect(exposition::Page& page) override;
  void detach() override { detached_ = true; }
  void attach() override { detached_ = false; }

  Result<std::size_t> ask(const Demand& demand) override;
  void end(const std::string& holder, const std::string& ticket) override;

 private:
  using Place = std::pair<std::uint32_t, std::uint32_t>;  // slot and generation
  struct Known {
    Ioc ioc;
    bool counted = true;
    bool told = false;    // to selectors_
    bool chosen = false;  // and it had room
    TimePoint gone{};
  };

  const Ioc* ioc(std::uint32_t slot, std::uint32_t generation) const override;
  bool name_put(const iocx_trace_put& put, Cause& cause) override;
  std::optional<std::uint64_t> put_end(const iocx_trace_put& put) override;
  std::string link_name(std::uint32_t generation, std::uint64_t channel) override;
  void add_drops_to(Drops& drops);
  bool works() {
    return maps_.ring() && records_.process() != nullptr && records_.trace_problem().empty();
  }
  bool read_some(std::size_t* rest);

  TraceMaps& maps_;
  records::RecordsCollector& records_;
  puts::PutsCollector& puts_;
  std::vector<TraceReceiver*> receivers_;
  records::RecordTraceMaps counters_;
  mutable std::mutex mutex_;  // of the members below
  TraceSelectors selectors_;
  std::map<Place, Known> known_;
  TroubleLog trouble_;
  PutValues values_;           // the same
  ChainReader reader_;         // for the thread, under the mutex
  putlog::Privacy privacy_;    // the same
  TroubleLog reader_trouble_;  // for the thread
  std::atomic<bool> detached_ = false;
  std::jthread thread_;
};

}  // namespace ioc_exporter::traces
