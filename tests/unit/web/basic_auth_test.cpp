#include "web/basic_auth.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "web/access.h"

namespace ioc_exporter::web {
namespace {

using Verdict = BasicAuth::Verdict;

// Of "secret", cost 4.
const std::string kHash = "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW";

// "alice:secret", "alice:wrong", "bob:secret" in base64.
const std::string kRight = "Basic YWxpY2U6c2VjcmV0";
const std::string kWrong = "Basic YWxpY2U6d3Jvbmc=";
const std::string kOtherUser = "Basic Ym9iOnNlY3JldA==";

TEST(BasicAuth, ChecksBcryptHashes) {
  EXPECT_TRUE(is_password("secret", kHash));
  EXPECT_FALSE(is_password("secreT", kHash));
  EXPECT_FALSE(is_password("", kHash));
  EXPECT_FALSE(is_password(std::string("secret\0x", 8), kHash));
  EXPECT_FALSE(is_password("secret", "*0"));
  EXPECT_FALSE(is_password("secret", "secret"));
}

TEST(BasicAuth, WithoutUsersAllAreAllowed) {
  BasicAuth auth({});
  EXPECT_EQ(auth.judge(""), Verdict::allowed);
}

TEST(BasicAuth, AUserWithTheRightPassword) {
  BasicAuth auth({{"alice", kHash}});
  for (const char* header : {"", "Basic", "Basic ", "Bearer YWxpY2U6c2VjcmV0",
                             "Basic YWxpY2U=", "Basic ****", "BasicYWxpY2U6c2VjcmV0"})
    EXPECT_EQ(auth.judge(header), Verdict::refused) << header;
  EXPECT_EQ(auth.checks(), 0u);
  EXPECT_EQ(auth.judge(kRight), Verdict::allowed);
  EXPECT_EQ(auth.judge("bASIC   YWxpY2U6c2VjcmV0"), Verdict::allowed);
  EXPECT_EQ(auth.judge(kWrong), Verdict::refused);
  EXPECT_EQ(auth.judge(kOtherUser), Verdict::refused);
}

TEST(BasicAuth, WhatIsKnownIsNotCheckedAgain) {
  BasicAuth auth({{"alice", kHash}});
  for (int i = 0; i < 23; ++i) {
    EXPECT_EQ(auth.judge(kRight), Verdict::allowed);
    EXPECT_EQ(auth.judge(kWrong), Verdict::refused);
    EXPECT_EQ(auth.judge(kOtherUser), Verdict::refused);
  }
  EXPECT_EQ(auth.checks(), 3u);
}

// Checks that take as long as the test wants.
std::atomic<bool> finish{false};
std::atomic<int> running{0}, most{0};
bool slow_check(const std::string& password, const std::string&) {
  most = std::max(most.load(), ++running);
  while (!finish) std::this_thread::yield();
  --running;
  return password == "secret";
}

TEST(BasicAuth, OneCheckAtATimeAndWhoIsKnownDoesNotWait) {
  BasicAuth auth({{"alice", kHash}}, slow_check);
  finish = true;
  EXPECT_EQ(auth.judge(kRight), Verdict::allowed);
  finish = false;
  std::vector<std::thread> guessers;
  std::atomic<int> busy{0};
  guessers.emplace_back([&auth] { EXPECT_EQ(auth.judge(kWrong), Verdict::refused); });
  while (running == 0) std::this_thread::yield();
  for (int i = 0; i < 7; ++i)
    guessers.emplace_back([&auth, &busy, i] {
      const std::string guess = "Basic YWxpY2U6eHh4" + std::string(1, static_cast<char>('A' + i));
      if (auth.judge(guess, std::chrono::milliseconds(1)) == Verdict::busy) ++busy;
    });
  for (int i = 1; i < 8; ++i) guessers[static_cast<std::size_t>(i)].join();
  EXPECT_EQ(busy, 7);
  EXPECT_EQ(auth.judge(kRight), Verdict::allowed);
  finish = true;
  guessers.front().join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(auth.checks(), 2u);
}

TEST(BasicAuth, EqualInConstantTime) {
  EXPECT_TRUE(equal_in_constant_time("", ""));
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_in_constant_time("abc", "ab"));
}

TEST(RateLimit, LongIntervalsAndLargeBurstsAreNoOverflow) {
  using std::chrono::hours;
  for (const auto& [interval, burst] :
       {std::pair<std::chrono::milliseconds, std::uint64_t>{hours(10), 1'000'000},
        {std::chrono::milliseconds::max(), 1},
        {std::chrono::milliseconds::max(), 1'000'000}}) {
    RateLimit limit({interval, burst});
    RateLimit::Clock::time_point now{};
    EXPECT_TRUE(limit.allows(now));
    EXPECT_EQ(limit.allows(now), burst > 1 && interval < std::chrono::milliseconds::max());
    for (int year = 0; year < 3; ++year) now += hours(90 * 365 * 24);
    EXPECT_TRUE(limit.allows(now));
  }
}

TEST(RateLimit, ABurstAndThenOneEachInterval) {
  RateLimit limit({std::chrono::seconds(10), 3});
  const RateLimit::Clock::time_point start{};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limit.allows(start));
  EXPECT_FALSE(limit.allows(start + std::chrono::seconds(9)));
  EXPECT_TRUE(limit.allows(start + std::chrono::seconds(10)));
  EXPECT_FALSE(limit.allows(start + std::chrono::seconds(11)));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limit.allows(start + std::chrono::hours(9)));
  EXPECT_FALSE(limit.allows(start + std::chrono::hours(9)));
}

TEST(Access, RulesAreExchanged) {
  Access access;
  Request request;
  EXPECT_FALSE(access.refuse(request));
  web::WebConfig rules;
  rules.users = {{"alice", kHash}};
  rules.headers = {{"X-Frame-Options", "deny"}};
  access.use(rules);
  auto refusal = access.refuse(request);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 401);
  EXPECT_EQ(refusal->headers.at("WWW-Authenticate").find("Basic "), 0u);
  EXPECT_EQ(access.headers(), rules.headers);
  request.authorization = kRight;
  EXPECT_FALSE(access.refuse(request));
  rules.rate_limit = {std::chrono::hours(1), 1};
  access.use(rules);
  EXPECT_FALSE(access.refuse(request));
  refusal = access.refuse(request);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 429);
}

}  // namespace
}  // namespace ioc_exporter::web
