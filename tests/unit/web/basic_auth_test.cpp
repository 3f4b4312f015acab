#include "web/basic_auth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

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

TEST(BasicAuth, KnownPasswordsAreNotHashedAgain) {
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

TEST(BasicAuth, ChecksRunOneAtATimeAndKnownUsersDoNotWait) {
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
      const std::string guess =
          "Basic YWxpY2U6eHh4" + std::string(1, static_cast<char>('A' + i)) + "A==";
      if (auth.judge(guess, "", std::chrono::milliseconds(1)) == Verdict::busy) ++busy;
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

// Of "secret", cost 5.
const std::string kDearer = "$2b$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a";

std::vector<std::string> hashes_checked;
bool noted_check(const std::string& password, const std::string& hash) {
  hashes_checked.push_back(hash.substr(0, 7));
  return password == "secret";
}

// As many rounds for each user, and for one who is not there.
TEST(BasicAuth, TimeDoesNotTellWhichUsersExist) {
  BasicAuth auth({{"alice", kHash}, {"carol", kDearer}}, noted_check);
  const auto rounds = [&auth](const std::string& header) {
    hashes_checked.clear();
    EXPECT_EQ(auth.judge(header), Verdict::refused);
    int sum = 0;
    for (const std::string& hash : hashes_checked) sum += 1 << std::stoi(hash.substr(4, 2));
    return sum;
  };
  EXPECT_EQ(rounds(kWrong), 32);                    // alice, 16 + 16
  EXPECT_EQ(rounds("Basic Y2Fyb2w6d3Jvbmc="), 32);  // carol
  EXPECT_EQ(rounds("Basic bm9ib2R5OndyMG5n"), 32);  // nobody
}

TEST(BasicAuth, FewWaitForTheirTurnAndFewerOfOneAddress) {
  BasicAuth auth({{"alice", kHash}}, slow_check);
  finish = false;
  std::vector<std::thread> guessers;
  const auto guess_from = [&](int number, const std::string& address) {
    guessers.emplace_back([&auth, number, address] {
      const std::string guess =
          "Basic YWxpY2U6eHh4" +
          std::string(1, static_cast<char>((number < 26 ? 'A' : 'a' - 26) + number)) + "A==";
      auth.judge(guess, address, std::chrono::seconds(60));
    });
  };
  for (int i = 0; i < 4; ++i) guess_from(i, "192.0.2.1");
  while (auth.waiting() < 4) std::this_thread::yield();
  EXPECT_EQ(auth.judge(kWrong, "192.0.2.1", std::chrono::seconds(60)), Verdict::busy);
  for (int i = 4; i < 8; ++i) guess_from(i, "192.0.2.2");
  while (auth.waiting() < 8) std::this_thread::yield();
  EXPECT_EQ(auth.judge(kWrong, "192.0.2.2", std::chrono::seconds(60)), Verdict::busy);
  // Clients elsewhere are not kept out by them.
  const int all = static_cast<int>(BasicAuth::kMostWaitingAtAll);
  for (int i = 8; i < all; ++i) guess_from(i, "192.0.2." + std::to_string(i));
  while (auth.waiting() < BasicAuth::kMostWaitingAtAll) std::this_thread::yield();
  EXPECT_EQ(auth.judge(kWrong, "192.0.2.99", std::chrono::seconds(60)), Verdict::busy);
  finish = true;
  for (std::thread& guesser : guessers) guesser.join();
  EXPECT_EQ(auth.waiting(), 0u);
}

// Local users, and who has an IPv6 network, have as many addresses as they like.
TEST(BasicAuth, AddressesThatOneMayHaveTogetherAreOne) {
  using Addresses = std::vector<std::string>;
  for (const Addresses& addresses :
       {Addresses{"127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.5", "127.0.0.2"},
        Addresses{"2001:db8::1", "2001:db8::2", "2001:db8:0::f:1", "2001:db8::4", "2001:db8::5"},
        Addresses{"fe80::1%eth0", "fe80::2%eth0", "fe80::3", "fe80::4", "fe80::5%eth1"}}) {
    BasicAuth auth({{"alice", kHash}}, slow_check);
    finish = false;
    std::vector<std::thread> guessers;
    for (std::size_t i = 0; i < BasicAuth::kMostWaitingOfOne; ++i)
      guessers.emplace_back(
          [&auth, from = addresses[i]] { auth.judge(kWrong, from, std::chrono::seconds(60)); });
    while (auth.waiting() < BasicAuth::kMostWaitingOfOne) std::this_thread::yield();
    std::atomic<bool> done = false;
    auto last = Verdict::allowed;
    std::thread one_more([&] {
      last = auth.judge(kOtherUser, addresses.back(), std::chrono::seconds(60));
      done = true;
    });
    while (!done && auth.waiting() == BasicAuth::kMostWaitingOfOne) std::this_thread::yield();
    finish = true;
    one_more.join();
    EXPECT_EQ(last, Verdict::busy) << addresses.back();
    for (std::thread& guesser : guessers) guesser.join();
  }
}

}  // namespace
}  // namespace ioc_exporter::web
