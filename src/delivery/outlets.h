// Outlets: the sinks of one kind of events, as the options say: files, receivers. It waits for none
// of them.
#pragma once

#include <sys/types.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/helper.h"
#include "delivery/line_file.h"
#include "delivery/log_files.h"
#include "delivery/sink_options.h"
#include "delivery/sink_runner.h"

namespace ioc_exporter::delivery {

template <class Kind>
class Outlets {
 public:
  using Entry = typename Kind::Entry;

  explicit Outlets(Helper::Serve serve_others = {}) : files_(Kind::kLog, std::move(serve_others)) {}
  ~Outlets() { end_sinks(); }
  Outlets(const Outlets&) = delete;
  Outlets& operator=(const Outlets&) = delete;

  void add(SinkSetup<Kind> setup) {
    sinks_.push_back(std::make_unique<SinkRunner<Kind>>(std::move(setup)));
  }
  void give(std::span<const typename Kind::Item> items) {
    for (const auto& sink : sinks_) sink->receive(items);
  }
  // In any thread.
  std::vector<SinkSample> sink_samples() const {
    std::vector<SinkSample> all;
    for (const auto& sink : sinks_) all.push_back(sink->sample());
    return all;
  }

  // Files are opened here, by this process or by a helper of it.
  bool has_files() const { return !files_.empty(); }
  // Makes their folders where they are missing; whom they belong to. The error: to several.
  Result<uid_t> owner_of_files() const { return files_.owner(); }
  Result<UniqueFd> serve(const HelperRequest& request, const UniqueFd& none) {  // in the helper
    return files_.serve(request, none);
  }
  void use_helper(std::shared_ptr<Helper> helper) { files_.use_helper(std::move(helper)); }
  // Before the first event, so that what is wrong is told at the start.
  Result<void> open_files() {
    for (FileSink<Entry>* const sink : file_sinks_)
      if (auto opened = sink->open(); !opened) return opened;
    return {};
  }

 protected:
  std::unique_ptr<Sink<Entry>> make_file_sink(const SinkOptions& options,
                                              typename FileSink<Entry>::Append append) {
    auto sink =
        std::make_unique<FileSink<Entry>>(options.file, FileBounds{options.size, options.age},
                                          files_.add({options.file, options.count}), append);
    file_sinks_.push_back(sink.get());
    return sink;
  }
  LogFiles& files() { return files_; }
  // Gives them what waits, for a while: all at the same time.
  void end_sinks() {
    for (const auto& sink : sinks_) sink->begin_end();
    sinks_.clear();
  }

 private:
  LogFiles files_;
  std::vector<FileSink<Entry>*> file_sinks_;  // that the runners have
  std::vector<std::unique_ptr<SinkRunner<Kind>>> sinks_;
};

}  // namespace ioc_exporter::delivery
