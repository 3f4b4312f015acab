// Outlets: the sinks of one kind of events, as the options say: files, receivers. The exporter
// gives items to a feed, and waits for nothing; the delivery process has the sinks.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "delivery/line_file.h"
#include "delivery/pack.h"
#include "delivery/process.h"
#include "delivery/sink_options.h"
#include "delivery/sink_runner.h"

namespace ioc_exporter::delivery {

template <class Kind>
class Outlets : public Cargo {
 public:
  using Item = typename Kind::Item;
  using Entry = typename Kind::Entry;

  Outlets() = default;
  Outlets(const Outlets&) = delete;
  Outlets& operator=(const Outlets&) = delete;

  // Before the process is forked.
  void add(SinkSetup<Kind> setup) {
    SinkAccount& account = feed_.add_sink(setup.name);
    sinks_.push_back(std::make_unique<SinkRunner<Kind>>(std::move(setup), account));
  }
  bool has_sinks() const { return feed_.has_sinks(); }
  // Those without a folder send to somebody.
  bool has_receivers() const { return sinks_.size() > folders_.size(); }
  // Of the files.
  const std::vector<std::string>& folders() const { return folders_; }

  // The exporter's side, in one thread. Often, also without items: some may still wait.
  void give(std::span<const Item> items) {
    if (!has_sinks()) return;
    for (const Item& item : items) {
      packed_.clear();
      pack(packed_, *item);
      feed_.give(packed_, Kind::is_urgent(*item) ? Feed::Way::urgent : Feed::Way::plain);
    }
    feed_.send();
  }
  void hand_over(Time until) override { feed_.send_all(until); }
  // In any thread.
  std::vector<SinkSample> sink_samples() const { return feed_.samples(); }
  std::string why_stands() const {
    const std::string sinks = feed_.why_stands();
    return sinks.empty() ? "" : std::string(Kind::kLog) + ": sinks that stand still: " + sinks;
  }

  // The delivery process' side.
  std::array<int, 2> events() const override { return feed_.events(); }
  void begin() override {
    feed_.begin();
    for (const auto& sink : sinks_) sink->start();
  }
  Result<void> wait_until_open(Time until) override {
    for (const auto& sink : sinks_)
      if (auto opened = sink->wait_until_open(until); !opened) return opened;
    return {};
  }
  bool move_on() override {
    std::vector<Item> items;
    bool more = false;
    for (const Feed::Way way : Feed::kWays) {
      const std::size_t most = items.size() + kAtOnce;
      while (items.size() < most) {
        const auto packed = feed_.take(way);
        if (!packed) break;
        std::string_view bytes = *packed;
        auto item = std::make_shared<std::remove_const_t<typename Item::element_type>>();
        unpack(bytes, *item);
        items.push_back(std::move(item));
      }
      more = more || items.size() == most;
    }
    for (const auto& sink : sinks_) sink->receive(items);
    return more;
  }
  void end(Time until) override {
    for (const auto& sink : sinks_) sink->begin_end();
    for (const auto& sink : sinks_) sink->wait_until_ended(until);
    for (const SinkSample& sink : feed_.samples())
      if (sink.waiting > 0)
        log::warn("{}: {}: {} {} were not taken before the end", Kind::kLog, sink.sink,
                  sink.waiting, Kind::kItems);
  }

 protected:
  std::unique_ptr<Sink<Entry>> make_file_sink(const SinkOptions& options,
                                              typename FileSink<Entry>::Append append) {
    folders_.push_back(options.file.substr(0, std::max<std::size_t>(1, options.file.rfind('/'))));
    return std::make_unique<FileSink<Entry>>(LogFile{options.file, options.count},
                                             FileBounds{options.size, options.age}, append);
  }

 private:
  static constexpr std::size_t kAtOnce = 512;  // of each way

  std::vector<std::string> folders_;
  Feed feed_;
  std::string packed_;
  std::vector<std::unique_ptr<SinkRunner<Kind>>> sinks_;
};

}  // namespace ioc_exporter::delivery
