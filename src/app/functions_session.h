// Shared by the commands of ioc_exporter functions: IOCs and the collector of functions
// in a process of their own, and what is printed.
#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "app/options.h"
#include "base/helper.h"
#include "base/json_reader.h"
#include "base/result.h"
#include "functions/collector.h"
#include "iocs/host.h"
#include "iocs/memory/reader_pool.h"

namespace ioc_exporter::app {

struct FunctionsAsked {
  Options options;
  std::chrono::milliseconds time{};
  bool json = false;
  std::vector<std::string> words;
};

// With the exporter's processes.
class FunctionsSession {
 public:
  // Before the first thread is started.
  static Result<std::unique_ptr<FunctionsSession>> start(const Options& options,
                                                         const functions::Options& wanted);

  const iocs::Host& host() const { return host_; }
  const std::shared_ptr<iocs::ReaderPool>& readers() { return readers_; }
  functions::FunctionsCollector& collector() { return collector_; }
  // Why nothing can be counted; "" = it can.
  std::string problem() const;
  // One look at the host.
  Result<void> tick();
  // Seconds that it took: a signal ends it.
  double count(std::chrono::milliseconds time);

 private:
  FunctionsSession(const Options& options, const functions::Options& wanted);

  std::shared_ptr<iocs::ReaderPool> readers_;
  std::shared_ptr<Helper> helper_;
  iocs::Host host_;
  functions::FunctionsCollector collector_;
};

std::string no_such_ioc(const iocs::Host& host, const std::string& name);

// The exit status: `status`, or that of a failure.
int failed(std::FILE* err, int status, const std::string& why);
int written(std::FILE* out, std::FILE* err, const std::string& text, int status);
int written_json(std::FILE* out, std::FILE* err, const Json& json, int status);

// For a terminal. Rows are objects with the same keys, which are the titles.
Json text_of(std::string_view text);
std::string fixed(double number);
std::string cell_of(const Json& value);
std::string table_text(const Json& rows);

inline constexpr int kCommandFailed = 1, kCommandUsage = 2;

// The commands; as functions_command().
int list_functions_command(const FunctionsAsked& asked, std::FILE* out, std::FILE* err);
int try_functions_command(const FunctionsAsked& asked, std::FILE* out, std::FILE* err);

}  // namespace ioc_exporter::app
