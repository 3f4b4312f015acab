// Entries on disk: what is read is what was written, and what is none is told.
#include "putlog/entry_bytes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "events.h"
#include "putlog/json.h"

namespace ioc_exporter::putlog {
namespace {

PutEvent full() {
  PutEvent event = putlog::event(UINT64_MAX, "SR:Q1.DESC$");
  event.server = "[::1]:5064";
  event.client_host = std::string("a\0\xff\"b", 5);
  event.count = 1u << 30;
  event.value =
      Value{{Element(std::int64_t{-1}), Element(std::numeric_limits<std::int64_t>::min()),
             Element(1e-300), Element(-0.0), Element(std::string()),
             Element(std::string("x\0y", 3)), Element(std::numeric_limits<double>::infinity())},
            true};
  event.old = Value{{}, true};
  event.status = "ok";
  event.seconds = 0.25;
  event.rule = "machine";
  event.action = "unexpected";
  return event;
}

void expect_same(const Entry& entry) {
  const auto read = from_bytes(to_bytes(entry));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read->event, *entry.event);
  EXPECT_EQ(read->puts, entry.puts);
  EXPECT_EQ(read->burst, entry.burst);
}

TEST(EntryBytes, WhatIsReadIsWhatWasWritten) {
  expect_same({shared(PutEvent())});
  expect_same({shared(event(1))});
  expect_same({shared(full())});
  expect_same({shared(full()), 23, Burst{}});
  expect_same(
      {shared(event(7)), 23, Burst{.least = Element(std::int64_t{-5}), .most = Element(2.5)}});
}

TEST(EntryBytes, NaNStaysOne) {
  const auto read = from_bytes(to_bytes({shared(event(1, "A", std::nan("")))}));
  ASSERT_TRUE(read);
  EXPECT_TRUE(std::isnan(std::get<double>(read->event->value->elements.front())));
}

TEST(EntryBytes, WhatIsNoneIsNoEntry) {
  const std::string bytes = to_bytes({shared(full()), 2, Burst{}});
  EXPECT_FALSE(from_bytes(bytes.substr(0, bytes.size() - 1)));
  EXPECT_FALSE(from_bytes(bytes + std::string("\xfa\x01\x01x", 4)));  // a field of nobody
  EXPECT_FALSE(from_bytes(std::string(100, '\xff')));
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string broken = bytes;
    broken[random() % broken.size()] = static_cast<char>(random());
    if (const auto read = from_bytes(broken)) {
      std::string line;
      append_json(line, *read);
      EXPECT_FALSE(line.empty());
    }
  }
}

}  // namespace
}  // namespace ioc_exporter::putlog
