#include "puts/totals/bounds.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace ioc_exporter::puts {

using exposition::bound;
using exposition::KnownIocs;
using exposition::other;
using Sum = exposition::LimitedSeries::Sum;

const PutBounds::Kind PutBounds::kKinds[] = {
    {"puts", &exposition::SeriesLimits::puts, &PutBounds::puts_},
    {"put_failures", &exposition::SeriesLimits::put_failures, &PutBounds::failures_},
    {"put_durations", &exposition::SeriesLimits::put_durations, &PutBounds::durations_},
    {"pvs", &exposition::SeriesLimits::pvs, &PutBounds::pvs_},
    {"clients", &exposition::SeriesLimits::clients, &PutBounds::clients_},
    {"searches", &exposition::SeriesLimits::searches, &PutBounds::searches_},
    {"beacons", &exposition::SeriesLimits::beacons, &PutBounds::beacons_}};

void PutBounds::configure(const exposition::BoundsOptions& options) {
  const std::scoped_lock lock(mutex_);
  if (options.set != options_.set)
    durations_ = LimitedSeries(LimitedSeries::Kind::counter, kDurationValues);
  options_ = options;
  for (const Kind& kind : kKinds) (this->*kind.series).set_limit(options.limits.*kind.limit);
}

exposition::EdgeStep PutBounds::edge_step() {
  const std::scoped_lock lock(mutex_);
  return options_.edge_step;
}

std::vector<LimitedSample> PutBounds::limited() {
  const std::scoped_lock lock(mutex_);
  std::vector<LimitedSample> all;
  for (const Kind& kind : kKinds) {
    const bool by_choice = kind.series == &PutBounds::durations_ && is_of_site();
    all.push_back({kind.family, by_choice ? 0 : (this->*kind.series).limited()});
  }
  return all;
}

void PutBounds::apply(PutsSamples& samples, const KnownIocs& known) {
  const std::scoped_lock lock(mutex_);
  if (!samples.puts_missing) {
    apply_to_puts(samples, known);
    apply_to_pvs(samples, known);
    bound(
        clients_, samples.clients, known,
        [this](const ClientSample& one) {
          return clients_.add(one.ioc, one.client, {one.user, one.host},
                              {one.circuits, one.channels, one.monitors});
        },
        [&](const Sum& sum) {
          samples.clients.push_back({sum.ioc, sum.client, other(), other(), sum.values[0],
                                     sum.values[1], sum.values[2], by_pva_});
        });
  }
  if (samples.searches_missing) return;
  bound(
      searches_, samples.searches, known,
      [this](const SearchSample& search) -> Sum* {
        // The kernel's table has a sum of its own; they are one series.
        if (search.client == exposition::kOther) return nullptr;
        return searches_.add("", "", {search.client}, {search.requests});
      },
      [&](const Sum& sum) {
        samples.searches.push_back({other(), sum.values[0]});
      });
  bound(
      beacons_, samples.beacons, known,
      [this](const BeaconSample& beacon) {
        return beacons_.add("", "", {beacon.server}, {beacon.beacons});
      },
      [&](const Sum& sum) {
        samples.beacons.push_back({other(), sum.values[0]});
      });
}

void PutBounds::apply_to_puts(PutsSamples& samples, const KnownIocs& known) {
  const auto is_unwanted = [this](const auto& one) { return !options_.pvs.wants(one.pv); };
  std::erase_if(samples.puts, is_unwanted);
  std::erase_if(samples.put_failures, is_unwanted);
  bound(
      puts_, samples.puts, known,
      [this](const PutSample& put) {
        const bool notify = put.op == PutOp::write_notify;
        Sum* const sum = puts_.add(put.ioc, put.client, {put.pv, put.user, put.host},
                                   {notify ? 0 : put.count, notify ? put.count : 0});
        if (sum != nullptr)
          sum->latest[notify] = std::max(sum->latest[notify], put.last_time_seconds);
        return sum;
      },
      [&](const Sum& sum) {
        for (const bool notify : {false, true})
          if (sum.values[notify] > 0)
            samples.puts.push_back({sum.ioc, other(), sum.client, other(), other(),
                                    notify ? PutOp::write_notify : PutOp::write, sum.values[notify],
                                    sum.latest[notify], 0, by_pva_});
      });
  bound(
      failures_, samples.put_failures, known,
      [this](const PutFailureSample& failure) {
        return failures_.add(failure.ioc, failure.client, {failure.pv, failure.user, failure.host},
                             {failure.count}, failure.reason);
      },
      [&](const Sum& sum) {
        samples.put_failures.push_back({sum.ioc, other(), sum.client, other(), other(), sum.detail,
                                        sum.values[0], 0, by_pva_});
      });
}

// Durations and PVs follow the puts: a PV that only has puts over a limit has no series there.
void PutBounds::apply_to_pvs(PutsSamples& samples, const KnownIocs& known) {
  std::unordered_set<std::string> shown;
  std::string name;
  for (const PutSample& put : samples.puts) {
    exposition::name_of(name, put.ioc, put.pv);
    shown.insert(name);
  }
  const auto own = [&](const auto& one) {
    if (puts_.limited() == 0) return LimitedSeries::Own::may;
    exposition::name_of(name, one.ioc, one.pv);
    return shown.contains(name) ? LimitedSeries::Own::may : LimitedSeries::Own::never;
  };
  const auto is_unwanted = [this](const auto& one) { return !options_.pvs.wants(one.pv); };
  std::erase_if(samples.put_durations, is_unwanted);
  std::erase_if(samples.pvs, is_unwanted);
  if (is_of_site()) samples.pvs.clear();
  std::array<std::uint64_t, kDurationValues> values;
  bound(
      durations_, samples.put_durations, known,
      [&](const PutDurationSample& duration) {
        values[0] = duration.sum_ns;
        std::ranges::copy(duration.buckets, values.begin() + 1);
        const std::string_view labels[] = {duration.pv};
        return durations_.add({duration.ioc, "", labels}, values,
                              is_of_site() ? LimitedSeries::Own::never : own(duration));
      },
      [&](const Sum& sum) {
        PutDurationSample duration{sum.ioc, other(), sum.values[0], {}, by_pva_};
        std::copy(sum.values.begin() + 1, sum.values.end(), duration.buckets.begin());
        samples.put_durations.push_back(std::move(duration));
      });
  bound(
      pvs_, samples.pvs, known,
      [&](const PvSample& pv) {
        const std::string_view labels[] = {pv.pv};
        return pvs_.add({pv.ioc, "", labels}, {}, own(pv));
      },
      [](const Sum&) {});
}

}  // namespace ioc_exporter::puts
