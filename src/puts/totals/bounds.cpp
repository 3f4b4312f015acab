#include "puts/totals/bounds.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace ioc_exporter::ca {
namespace {

using exposition::KnownIocs;
using exposition::kOther;
using exposition::LimitedSeries;
using exposition::name_of;
using exposition::other;
using exposition::take_summed;
using Kind = LimitedSeries::Kind;
using Text = std::string_view;

constexpr std::size_t kOps = 2;  // write, write_notify

}  // namespace

CaBounds::CaBounds(const exposition::BoundsOptions& options)
    : puts_(Kind::counter, kOps),
      failures_(Kind::counter, 1),
      durations_(Kind::counter, 1 + kPutHistogramSlots),
      pvs_(Kind::gauge, 0),
      clients_(Kind::gauge, 3),
      searches_(Kind::counter, 1),
      beacons_(Kind::counter, 2) {
  configure(options);
}

void CaBounds::configure(const exposition::BoundsOptions& options) {
  const std::scoped_lock lock(mutex_);
  options_ = options;
  puts_.set_limit(options.limits.puts);
  failures_.set_limit(options.limits.put_failures);
  durations_.set_limit(options.limits.put_durations);
  pvs_.set_limit(options.limits.pvs);
  clients_.set_limit(options.limits.clients);
  searches_.set_limit(options.limits.searches);
  beacons_.set_limit(options.limits.beacons);
}

exposition::EdgeStep CaBounds::edge_step() {
  const std::scoped_lock lock(mutex_);
  return options_.edge_step;
}

void CaBounds::apply(CaSamples& samples, const KnownIocs& known) {
  const std::scoped_lock lock(mutex_);
  if (!samples.puts_missing) {
    // Durations and PVs follow the puts: a PV that only has puts over a limit has no series there.
    apply_to_puts(samples, known);
    apply_to_failures(samples, known);
    apply_to_durations(samples, known);
    apply_to_clients(samples, known);
  }
  if (!samples.searches_missing) apply_to_network(samples, known);
}

std::vector<LimitedSample> CaBounds::limited() {
  const std::scoped_lock lock(mutex_);
  return {{"puts", puts_.limited()},
          {"put_failures", failures_.limited()},
          {"put_durations", durations_.limited()},
          {"pvs", pvs_.limited()},
          {"clients", clients_.limited()},
          {"searches", searches_.limited()},
          {"beacons", beacons_.limited()}};
}

void CaBounds::apply_to_puts(CaSamples& samples, const KnownIocs& known) {
  puts_.begin();
  take_summed(samples.puts, [this](const PutSample& put) {
    if (!options_.pvs.wants(put.pv)) return true;
    std::array<std::uint64_t, kOps> counts{};
    const std::size_t op = put.op == PutOp::write ? 0 : 1;
    counts[op] = put.count;
    const std::array<Text, 3> rest{put.pv, put.user, put.host};
    exposition::LimitedSeries::Sum* const sum = puts_.add({put.ioc, put.client, rest}, counts);
    if (sum != nullptr) sum->latest[op] = std::max(sum->latest[op], put.last_time_seconds);
    return sum != nullptr;
  });
  puts_.end(known);
  puts_.for_each_sum([&samples](const exposition::LimitedSeries::Sum& sum) {
    for (std::size_t op = 0; op < kOps; ++op)
      if (sum.values[op] > 0)
        samples.puts.push_back({sum.ioc, other(), sum.client, other(), other(),
                                op == 0 ? PutOp::write : PutOp::write_notify, sum.values[op],
                                sum.latest[op], 0});
  });
}

void CaBounds::apply_to_failures(CaSamples& samples, const KnownIocs& known) {
  failures_.begin();
  take_summed(samples.put_failures, [this](const PutFailureSample& failure) {
    if (!options_.pvs.wants(failure.pv)) return true;
    const std::array<Text, 3> rest{failure.pv, failure.user, failure.host};
    const std::array<std::uint64_t, 1> count{failure.count};
    return failures_.add({failure.ioc, failure.client, rest, failure.reason}, count) != nullptr;
  });
  failures_.end(known);
  failures_.for_each_sum([&samples](const exposition::LimitedSeries::Sum& sum) {
    samples.put_failures.push_back(
        {sum.ioc, other(), sum.client, other(), other(), sum.detail, sum.values[0], 0});
  });
}

void CaBounds::apply_to_durations(CaSamples& samples, const KnownIocs& known) {
  std::unordered_set<std::string> shown;
  std::string name;
  for (const PutSample& put : samples.puts) {
    name_of(name, put.ioc, put.pv);
    shown.insert(name);
  }
  const auto is_shown = [&](Text ioc, Text pv) {
    if (puts_.limited() == 0) return LimitedSeries::Own::may;
    name_of(name, ioc, pv);
    return shown.contains(name) ? LimitedSeries::Own::may : LimitedSeries::Own::never;
  };
  durations_.begin();
  std::vector<std::uint64_t> values(1 + kPutHistogramSlots);
  take_summed(samples.put_durations, [&](const PutDurationSample& duration) {
    if (!options_.pvs.wants(duration.pv)) return true;
    values[0] = duration.sum_ns;
    std::ranges::copy(duration.buckets, values.begin() + 1);
    const std::array<Text, 1> rest{duration.pv};
    return durations_.add({duration.ioc, "", rest}, values, is_shown(duration.ioc, duration.pv)) !=
           nullptr;
  });
  durations_.end(known);
  durations_.for_each_sum([&samples](const exposition::LimitedSeries::Sum& sum) {
    PutDurationSample duration{sum.ioc, other(), sum.values[0], {}};
    std::copy(sum.values.begin() + 1, sum.values.end(), duration.buckets.begin());
    samples.put_durations.push_back(std::move(duration));
  });
  pvs_.begin();
  take_summed(samples.pvs, [&](const PvSample& pv) {
    if (!options_.pvs.wants(pv.pv)) return true;
    const std::array<Text, 1> rest{pv.pv};
    return pvs_.add({pv.ioc, "", rest}, {}, is_shown(pv.ioc, pv.pv)) != nullptr;
  });
  pvs_.end(known);
}

void CaBounds::apply_to_clients(CaSamples& samples, const KnownIocs& known) {
  clients_.begin();
  take_summed(samples.ca_clients, [this](const CaClientSample& client) {
    const std::array<Text, 2> rest{client.user, client.host};
    const std::array<std::uint64_t, 3> values{client.circuits, client.channels, client.monitors};
    return clients_.add({client.ioc, client.client, rest}, values) != nullptr;
  });
  clients_.end(known);
  clients_.for_each_sum([&samples](const exposition::LimitedSeries::Sum& sum) {
    samples.ca_clients.push_back(
        {sum.ioc, sum.client, other(), other(), sum.values[0], sum.values[1], sum.values[2]});
  });
}

void CaBounds::apply_to_network(CaSamples& samples, const KnownIocs& known) {
  searches_.begin();
  take_summed(samples.searches, [this](const SearchSample& search) {
    // The kernel's table has a sum of its own; they are one series.
    if (search.client == exposition::kOther) return false;
    const std::array<std::uint64_t, 1> requests{search.requests};
    const std::array<Text, 1> rest{search.client};
    return searches_.add({"", "", rest}, requests) != nullptr;
  });
  searches_.end(known);
  searches_.for_each_sum([&samples](const exposition::LimitedSeries::Sum& sum) {
    samples.searches.push_back({other(), sum.values[0]});
  });
  beacons_.begin();
  take_summed(samples.beacons, [this](const BeaconSample& beacon) {
    const std::array<std::uint64_t, 2> counts{beacon.beacons, beacon.anomalies};
    const std::array<Text, 1> rest{beacon.server};
    return beacons_.add({"", "", rest}, counts) != nullptr;
  });
  beacons_.end(known);
  beacons_.for_each_sum([&samples](const exposition::LimitedSeries::Sum& sum) {
    samples.beacons.push_back({other(), sum.values[0], sum.values[1]});
  });
}

}  // namespace ioc_exporter::ca
