// JournaldSink: puts in the systemd journal, by its native protocol: one datagram each, with fields
// that journalctl finds by (journalctl EPICS_PV=SR:I).
//
// The largest put there may be is some 200 KB: it fits a datagram, so none goes as a file, which
// the exporter has no right to make.
#pragma once

#include <string>

#include "base/unique_fd.h"
#include "putlog/sink.h"

namespace ioc_exporter::putlog {

inline constexpr const char* kJournal = "/run/systemd/journal/socket";

// FIELD=value lines; a value with a line end has its length before it instead.
std::string journal_fields(const Entry& entry);

class JournaldSink : public Sink {
 public:
  explicit JournaldSink(std::string path = kJournal) : path_(std::move(path)) {}

  Delivered deliver(std::span<const Entry> entries) override;

 private:
  const std::string path_;
  UniqueFd socket_;
};

}  // namespace ioc_exporter::putlog
