// Puts for the tests of the put log.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "putlog/entry.h"

namespace ioc_exporter::putlog {

inline Value scalar(Element element) {
  return {{std::move(element)}, false};
}

inline PutEvent event(std::uint64_t seq, std::string pv = "SR:I", Element value = 1.5) {
  using namespace std::chrono_literals;
  PutEvent event;
  event.time = std::chrono::sys_days{std::chrono::year{2026} / 11 / 22} + 23h + 5ns;
  event.seq = seq;
  event.ioc = "ps";
  event.client = "10.0.0.7:4711";
  event.user = "ada";
  event.pv = std::move(pv);
  event.op = "write";
  event.type = "DBR_DOUBLE";
  event.count = 1;
  event.value = scalar(std::move(value));
  return event;
}

inline SharedEvent shared(PutEvent event) {
  return std::make_shared<const PutEvent>(std::move(event));
}

inline std::vector<PutEvent> events(std::uint64_t first, std::uint64_t count) {
  std::vector<PutEvent> all;
  for (std::uint64_t i = 0; i < count; ++i) all.push_back(event(first + i));
  return all;
}

inline std::vector<Entry> entries(std::uint64_t first, std::uint64_t count) {
  std::vector<Entry> all;
  for (PutEvent& one : events(first, count)) all.push_back({shared(std::move(one))});
  return all;
}

}  // namespace ioc_exporter::putlog
