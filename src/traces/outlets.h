// Outlets: all that traces go to for good, as the options say: files, servers. It waits for none of
// them.
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
#include "traces/outlet_options.h"
#include "traces/sink.h"

namespace ioc_exporter::traces {

class Outlets : public TraceReceiver {
 public:
  // `version`: of this exporter, for those who are sent traces. Reads logins. Opens no files yet.
  static Result<std::unique_ptr<Outlets>> make(const OutletOptions& options,
                                               const std::string& version);
  // Gives them what waits, for a while: all at the same time.
  ~Outlets() override;

  void receive(std::span<const SharedTrace> traces) override;
  std::vector<SinkSample> samples() const override;

  // Files are opened here, by this process or by a helper of it.
  bool has_files() const { return !files_.empty(); }
  // Makes their folders where they are missing; whom they belong to. The error: to several.
  Result<uid_t> owner_of_files() const { return files_.owner(); }
  Result<UniqueFd> serve(const HelperRequest& request, const UniqueFd& none) {  // in the helper
    return files_.serve(request, none);
  }
  void use_helper(std::shared_ptr<Helper> helper) { files_.use_helper(std::move(helper)); }
  // Before the first trace, so that what is wrong is told at the start.
  Result<void> open_files();

 private:
  Outlets() = default;

  Result<std::unique_ptr<Sink>> make_sink(const SinkOptions& options, const std::string& version);

  delivery::LogFiles files_{TraceKind::kLog};
  std::vector<delivery::FileSink<SharedTrace>*> file_sinks_;  // that the runners have
  std::vector<std::unique_ptr<SinkRunner>> sinks_;            // last: their threads use the others
};

}  // namespace ioc_exporter::traces
