#include "app/bounds.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace ioc_exporter::app {
namespace {

using Kind = exposition::LimitedSeries::Kind;
using Text = std::string_view;

constexpr std::size_t kOps = 2;  // write, write_notify

// What has no IOC is always there.
struct KnownIocs {
  std::unordered_set<std::string> names;

  explicit KnownIocs(const Snapshot& snapshot) {
    for (const IocSample& ioc : snapshot.iocs) names.insert(ioc.name);
    for (const CaServerSample& server : snapshot.ca_servers) names.insert(server.ioc);
  }
  bool operator()(const std::string& name) const { return name.empty() || names.contains(name); }
};

// Takes the samples out that add(sample) says are in a sum.
template <class Sample, class Add>
void take_summed(std::vector<Sample>& samples, Add add) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (add(samples[i])) continue;
    if (kept != i) samples[kept] = std::move(samples[i]);
    ++kept;
  }
  samples.erase(samples.begin() + static_cast<std::ptrdiff_t>(kept), samples.end());
}

std::string other() {
  return std::string(exposition::kOther);
}

// Two texts as one, the first without a NUL: a PV of an IOC, a rule with its action.
void name_of(std::string& buffer, Text first, Text second) {
  buffer.assign(first).append(1, '\0').append(second);
}

}  // namespace

Bounds::Bounds(const exposition::BoundsOptions& options)
    : puts_(Kind::counter, kOps),
      failures_(Kind::counter, 1),
      durations_(Kind::counter, 1 + kPutHistogramSlots),
      pvs_(Kind::gauge, 0),
      clients_(Kind::gauge, 3),
      searches_(Kind::counter, 1),
      beacons_(Kind::counter, 2),
      unexpected_(Kind::counter, 1) {
  configure(options);
}

void Bounds::configure(const exposition::BoundsOptions& options) {
  const std::scoped_lock lock(mutex_);
  options_ = options;
  records_.configure(options);
  puts_.set_limit(options.put_limit);
  failures_.set_limit(options.failure_limit);
  durations_.set_limit(options.duration_limit);
  pvs_.set_limit(options.pv_limit);
  clients_.set_limit(options.client_limit);
  searches_.set_limit(options.search_limit);
  beacons_.set_limit(options.beacon_limit);
  unexpected_.set_limit(options.unexpected_limit);
}

void Bounds::apply(Snapshot& snapshot) {
  const std::scoped_lock lock(mutex_);
  records_.apply(snapshot.iocs);
  if (!snapshot.puts_missing) {
    // Durations and PVs follow the puts: a PV that only has puts over a limit has no series there.
    apply_to_puts(snapshot);
    apply_to_failures(snapshot);
    apply_to_durations(snapshot);
    apply_to_clients(snapshot);
  }
  if (!snapshot.puts_missing || !snapshot.unexpected_puts.empty()) apply_to_unexpected(snapshot);
  if (!snapshot.searches_missing) apply_to_network(snapshot);
  add_limited(snapshot);
}

void Bounds::apply_to_puts(Snapshot& snapshot) {
  puts_.begin();
  take_summed(snapshot.puts, [this](const PutSample& put) {
    if (!options_.pvs.wants(put.pv)) return true;
    std::array<std::uint64_t, kOps> counts{};
    const std::size_t op = put.op == PutOp::write ? 0 : 1;
    counts[op] = put.count;
    const std::array<Text, 3> rest{put.pv, put.user, put.host};
    exposition::LimitedSeries::Sum* const sum = puts_.add({put.ioc, put.client, rest}, counts);
    if (sum != nullptr) sum->latest[op] = std::max(sum->latest[op], put.last_time_seconds);
    return sum != nullptr;
  });
  puts_.end(KnownIocs(snapshot));
  puts_.for_each_sum([&snapshot](const exposition::LimitedSeries::Sum& sum) {
    for (std::size_t op = 0; op < kOps; ++op)
      if (sum.values[op] > 0)
        snapshot.puts.push_back({sum.ioc, other(), sum.client, other(), other(),
                                 op == 0 ? PutOp::write : PutOp::write_notify, sum.values[op],
                                 sum.latest[op]});
  });
}

void Bounds::apply_to_failures(Snapshot& snapshot) {
  failures_.begin();
  take_summed(snapshot.put_failures, [this](const PutFailureSample& failure) {
    if (!options_.pvs.wants(failure.pv)) return true;
    const std::array<Text, 3> rest{failure.pv, failure.user, failure.host};
    const std::array<std::uint64_t, 1> count{failure.count};
    return failures_.add({failure.ioc, failure.client, rest, failure.reason}, count) != nullptr;
  });
  failures_.end(KnownIocs(snapshot));
  failures_.for_each_sum([&snapshot](const exposition::LimitedSeries::Sum& sum) {
    snapshot.put_failures.push_back(
        {sum.ioc, other(), sum.client, other(), other(), sum.detail, sum.values[0]});
  });
}

// Sums of 0 are shown, too: increase() must see the first unexpected put of a sum as well.
void Bounds::apply_to_unexpected(Snapshot& snapshot) {
  unexpected_.begin();
  std::string verdict;
  take_summed(snapshot.unexpected_puts, [&](const UnexpectedPutSample& put) {
    const std::array<Text, 3> rest{put.pv, put.user, put.host};
    const std::array<std::uint64_t, 1> count{put.count};
    name_of(verdict, put.action, put.rule);
    exposition::LimitedSeries::Sum* const sum = unexpected_.add({put.ioc, put.client, rest, verdict}, count);
    if (sum != nullptr) sum->latest[0] = std::max(sum->latest[0], put.last_time_seconds);
    return sum != nullptr;
  });
  unexpected_.end(KnownIocs(snapshot));
  unexpected_.for_each_sum([&snapshot](const exposition::LimitedSeries::Sum& sum) {
    const std::size_t end = sum.detail.find('\0');
    snapshot.unexpected_puts.push_back({sum.ioc, other(), sum.client, other(), other(),
                                        sum.detail.substr(end + 1), sum.detail.substr(0, end),
                                        sum.values[0], sum.latest[0]});
  });
}

void Bounds::apply_to_durations(Snapshot& snapshot) {
  std::unordered_set<std::string> shown;
  std::string name;
  for (const PutSample& put : snapshot.puts) {
    name_of(name, put.ioc, put.pv);
    shown.insert(name);
  }
  const auto is_shown = [&](Text ioc, Text pv) {
    if (puts_.limited() == 0) return true;
    name_of(name, ioc, pv);
    return shown.contains(name);
  };
  durations_.begin();
  std::vector<std::uint64_t> values(1 + kPutHistogramSlots);
  take_summed(snapshot.put_durations, [&](const PutDurationSample& duration) {
    if (!options_.pvs.wants(duration.pv)) return true;
    values[0] = duration.sum_ns;
    std::ranges::copy(duration.buckets, values.begin() + 1);
    const std::array<Text, 1> rest{duration.pv};
    return durations_.add({duration.ioc, "", rest}, values, is_shown(duration.ioc, duration.pv)) !=
           nullptr;
  });
  durations_.end(KnownIocs(snapshot));
  durations_.for_each_sum([&snapshot](const exposition::LimitedSeries::Sum& sum) {
    PutDurationSample duration{sum.ioc, other(), sum.values[0], {}};
    std::copy(sum.values.begin() + 1, sum.values.end(), duration.buckets.begin());
    snapshot.put_durations.push_back(std::move(duration));
  });
  pvs_.begin();
  take_summed(snapshot.pvs, [&](const PvSample& pv) {
    if (!options_.pvs.wants(pv.pv)) return true;
    const std::array<Text, 1> rest{pv.pv};
    return pvs_.add({pv.ioc, "", rest}, {}, is_shown(pv.ioc, pv.pv)) != nullptr;
  });
  pvs_.end(KnownIocs(snapshot));
}

void Bounds::apply_to_clients(Snapshot& snapshot) {
  clients_.begin();
  take_summed(snapshot.ca_clients, [this](const CaClientSample& client) {
    const std::array<Text, 2> rest{client.user, client.host};
    const std::array<std::uint64_t, 3> values{client.circuits, client.channels, client.monitors};
    return clients_.add({client.ioc, client.client, rest}, values) != nullptr;
  });
  clients_.end(KnownIocs(snapshot));
  clients_.for_each_sum([&snapshot](const exposition::LimitedSeries::Sum& sum) {
    snapshot.ca_clients.push_back(
        {sum.ioc, sum.client, other(), other(), sum.values[0], sum.values[1], sum.values[2]});
  });
}

void Bounds::apply_to_network(Snapshot& snapshot) {
  const KnownIocs iocs(snapshot);
  searches_.begin();
  take_summed(snapshot.searches, [this](const SearchSample& search) {
    // The kernel's table has a sum of its own; they are one series.
    if (search.client == exposition::kOther) return false;
    const std::array<std::uint64_t, 1> requests{search.requests};
    const std::array<Text, 1> rest{search.client};
    return searches_.add({"", "", rest}, requests) != nullptr;
  });
  searches_.end(iocs);
  searches_.for_each_sum([&snapshot](const exposition::LimitedSeries::Sum& sum) {
    snapshot.searches.push_back({other(), sum.values[0]});
  });
  beacons_.begin();
  take_summed(snapshot.beacons, [this](const BeaconSample& beacon) {
    const std::array<std::uint64_t, 2> counts{beacon.beacons, beacon.anomalies};
    const std::array<Text, 1> rest{beacon.server};
    return beacons_.add({"", "", rest}, counts) != nullptr;
  });
  beacons_.end(iocs);
  beacons_.for_each_sum([&snapshot](const exposition::LimitedSeries::Sum& sum) {
    snapshot.beacons.push_back({other(), sum.values[0], sum.values[1]});
  });
}

void Bounds::add_limited(Snapshot& snapshot) const {
  snapshot.limited = {{"records", records_.limited()},
                      {"puts", puts_.limited()},
                      {"put_failures", failures_.limited()},
                      {"put_durations", durations_.limited()},
                      {"pvs", pvs_.limited()},
                      {"clients", clients_.limited()},
                      {"searches", searches_.limited()},
                      {"beacons", beacons_.limited()},
                      {"unexpected_puts", unexpected_.limited()}};
}

}  // namespace ioc_exporter::app
