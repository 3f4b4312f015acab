#include "web/basic_auth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace ioc_exporter::web {
namespace {

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

TEST(BasicAuth, AUserWithTheRightPassword) {
  EXPECT_TRUE(BasicAuth({}).knows(""));
  EXPECT_EQ(BasicAuth({}).user_of(""), "") << "without users all are let in";
  BasicAuth auth({{"alice", kHash}});
  for (const char* header : {"", "Basic", "Basic ", "Bearer YWxpY2U6c2VjcmV0",
                             "Basic YWxpY2U=", "Basic ****", "BasicYWxpY2U6c2VjcmV0"}) {
    EXPECT_TRUE(auth.knows(header)) << header;
    EXPECT_FALSE(auth.user_of(header)) << header;
  }
  EXPECT_EQ(auth.user_of(kRight), "alice");
  EXPECT_EQ(auth.user_of("bASIC   YWxpY2U6c2VjcmV0"), "alice");
  EXPECT_FALSE(auth.user_of(kWrong));
  EXPECT_FALSE(auth.user_of(kOtherUser));
}

std::vector<std::string> hashes_checked;
bool noted_check(const std::string& password, const std::string& hash) {
  hashes_checked.push_back(hash);
  return password == "secret";
}

// A user that does not exist costs as much as one that does.
TEST(BasicAuth, EachPasswordIsHashedOnce) {
  hashes_checked.clear();
  BasicAuth auth({{"alice", kHash}}, noted_check);
  for (int i = 0; i < 23; ++i) {
    EXPECT_EQ(auth.knows(kRight), i > 0);
    EXPECT_EQ(auth.user_of(kRight), "alice");
    EXPECT_FALSE(auth.user_of(kWrong));
    EXPECT_FALSE(auth.user_of(kOtherUser));
  }
  EXPECT_EQ(hashes_checked, std::vector<std::string>(3, kHash));
}

// As many wrong ones as anybody likes neither take memory nor make a right one unknown.
TEST(BasicAuth, WrongPasswordsAreBounded) {
  hashes_checked.clear();
  BasicAuth auth({{"alice", kHash}}, noted_check);
  EXPECT_TRUE(auth.user_of(kRight));
  for (int i = 1000; i < 1200; ++i) auth.user_of("Basic YWxpY2U6" + std::to_string(i));
  EXPECT_EQ(hashes_checked.size(), 201u);
  EXPECT_FALSE(auth.knows("Basic YWxpY2U61000"));
  EXPECT_TRUE(auth.knows("Basic YWxpY2U61199"));
  EXPECT_TRUE(auth.knows(kRight));
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
  EXPECT_TRUE(auth.user_of(kRight));
  finish = false;
  std::vector<std::thread> guessers;
  for (const std::string& guess : {kWrong, kOtherUser})
    guessers.emplace_back([&auth, guess] { EXPECT_FALSE(auth.user_of(guess)); });
  while (running == 0) std::this_thread::yield();
  EXPECT_TRUE(auth.user_of(kRight));
  finish = true;
  for (std::thread& guesser : guessers) guesser.join();
  EXPECT_EQ(most, 1);
}

TEST(BasicAuth, EqualInConstantTime) {
  EXPECT_TRUE(equal_in_constant_time("", ""));
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_in_constant_time("abc", "ab"));
}

}  // namespace
}  // namespace ioc_exporter::web
