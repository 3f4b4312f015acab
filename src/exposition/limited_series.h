// LimitedSeries: the things of a kind that have series of their own, and the sums of all others.
//
// - A thing that has a series of its own keeps it while it lives, and shows all its counts there.
// - One for which there is no room adds its growth to a sum, which never shrinks and never jumps by
//   what was counted elsewhere. A sum leaves with its IOC.
// - What must be named has a series of its own whatever the limits are, for as long as it must be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ioc_exporter::exposition {

// The label value of the sums.
inline constexpr std::string_view kOther = "(other)";

struct SeriesLimit {
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::size_t series = kNone;
  std::size_t per_ioc = kNone;
  std::size_t per_client = kNone;  // over all IOCs
};

class LimitedSeries {
 public:
  enum class Kind { counter, gauge };
  // Whether a thing has a series of its own: where there is room; not before another call says so;
  // in any case, until another call says otherwise.
  enum class Own { may, never, must };

  struct Sum {
    std::string ioc;
    std::string client;  // kOther, unless it is the client that has too many
    std::string detail;
    std::vector<std::uint64_t> values;  // after end()
    double latest[2] = {0, 0};          // for the caller

   private:
    friend class LimitedSeries;
    std::size_t members = 0;
  };

  // A thing. `labels` distinguishes it from others of the same IOC and client; `detail` is a part
  // of it that sums are kept apart by.
  struct Key {
    std::string_view ioc, client;
    std::span<const std::string_view> labels;
    std::string_view detail = {};
  };

  // `values`: how many numbers a thing has.
  LimitedSeries(Kind kind, std::size_t values) : kind_(kind), value_count_(values) {}

  // For things that are not there yet: those that have their series keep them.
  void set_limit(const SeriesLimit& limit) { limit_ = limit; }

  // A new scrape. Then add() for each sample: null when the thing has a series of its own, else the
  // sum that the values went to. Several samples of one thing are added up.
  void begin();
  Sum* add(const Key& key, std::span<const std::uint64_t> values, Own own = Own::may);
  template <std::size_t Labels, std::size_t Values>
  Sum* add(std::string_view ioc, std::string_view client, const std::string_view (&labels)[Labels],
           const std::uint64_t (&values)[Values], std::string_view detail = {}) {
    return add({ioc, client, labels, detail}, values);
  }
  // Forgets what was not added. Sums of IOCs for which `is_there` is false go with their last
  // thing.
  void end(const std::function<bool(const std::string& ioc)>& is_there);

  // Calls each(sum); after end().
  template <class Each>
  void for_each_sum(Each each) const {
    for (const auto& [key, sum] : sums_) each(sum);
  }
  // Things that are summed up now.
  std::size_t limited() const { return limited_; }

 private:
  // Values that are not 0, by their place.
  using Sparse = std::vector<std::pair<std::uint32_t, std::uint64_t>>;
  struct Use {
    std::size_t own = 0, things = 0;
  };
  struct Text {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  template <class Value>
  using ByText = std::unordered_map<std::string, Value, Text, std::equal_to<>>;
  struct Thing {
    std::uint64_t pass = 0;
    Sum* sum = nullptr;     // null: has a series of its own
    Sum* left = nullptr;    // the sum that it leaves in this scrape
    bool promoted = false;  // gets its own series in the next scrape; counted as own already
    Own own = Own::may;
    bool over_limit = false;  // has its series because it must
    ByText<Use>::value_type* ioc = nullptr;
    ByText<Use>::value_type* client = nullptr;
    Sparse last, now;  // of things in a sum, or over the limit
  };

  std::string_view text_of(const Key& key);
  bool has_room(const Thing& thing) const;
  void take_room(Thing& thing, std::size_t more);
  Sum& sum_for(const Thing& thing, const Key& key);
  void enter(Thing& thing, const Key& key);
  void name_in_any_case(Thing& thing);
  void leave(Thing& thing);
  void settle(Thing& thing) const;
  void promote();
  ByText<Use>::value_type* use_of(ByText<Use>& uses, std::string_view name);
  static void release_unused(ByText<Use>& uses, ByText<Use>::value_type* use);

  Kind kind_;
  std::size_t value_count_;
  SeriesLimit limit_;
  std::uint64_t pass_ = 0;
  std::size_t own_ = 0, limited_ = 0;
  std::string buffer_;
  ByText<Thing> things_;
  ByText<Sum> sums_;
  ByText<Use> iocs_, clients_;
};

// Whether something of that name is there still: else its sums may go.
using KnownIocs = std::function<bool(const std::string& ioc)>;

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

// A scrape of samples of one kind: takes those out that add(sample), LimitedSeries::add(), gives a
// sum for, and then calls each(sum), which adds samples for the sums.
template <class Sample, class Add, class Each>
void bound(LimitedSeries& series, std::vector<Sample>& samples, const KnownIocs& known, Add add,
           Each each) {
  series.begin();
  take_summed(samples, [&](const Sample& sample) { return add(sample) != nullptr; });
  series.end(known);
  series.for_each_sum(each);
}

inline std::string other() {
  return std::string(exposition::kOther);
}

// Two texts as one, the first without a NUL: a PV of an IOC, a rule with its action.
inline void name_of(std::string& buffer, std::string_view first, std::string_view second) {
  buffer.assign(first).append(1, '\0').append(second);
}

}  // namespace ioc_exporter::exposition
