// TcpSink: lines over TCP, as iocLogServer and Logstash take them: in caPutLog's JSON, or in ours.
//
// Bytes that the receiver's host has not acknowledged are sent again on the next connection, so
// that a receiver may see some lines twice. What it has acknowledged, and lost, is not known here.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/unique_fd.h"
#include "putlog/sink.h"

namespace ioc_exporter::putlog {

enum class LineFormat { caputlog, full };

class TcpSink : public Sink {
 public:
  TcpSink(std::string host, std::string port, LineFormat format);

  Delivered deliver(std::span<const Entry> entries) override;

 private:
  Result<void> connect();
  enum class Acknowledged { all, part };  // of `text_`
  // The error: the connection is of no use.
  Result<Acknowledged> send_and_wait();
  Result<Acknowledged> acknowledged();

  const std::string host_, port_, what_;
  const LineFormat format_;
  UniqueFd socket_;
  std::string text_;                                     // of the entries that are under way
  std::size_t entries_ = 0;                              // how many
  std::size_t sent_ = 0;                                 // bytes of `text_` on this connection
  std::uint64_t acknowledged_ = 0;                       // bytes of all on this connection
  std::chrono::steady_clock::time_point progress_at_{};  // when it last took some
};

}  // namespace ioc_exporter::putlog
