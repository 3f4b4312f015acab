#include "records/thread_clients.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/unique_fd.h"

namespace {

using namespace ioc_exporter;
using records::waits_on_descriptor;

std::string call(long number, const std::string& rest) {
  return std::to_string(number) + rest;
}

TEST(ThreadClients, TextOfWaitingThreads) {
  const std::string rest = " 0x2d 0x7f00 0x1000 0x0 0x0 0x0 0x7ffe 0x7f01\n";
  EXPECT_EQ(waits_on_descriptor(call(SYS_recvfrom, rest)), 0x2d);
  EXPECT_EQ(waits_on_descriptor(call(SYS_recvmsg, rest)), 0x2d);
  EXPECT_EQ(waits_on_descriptor(call(SYS_read, rest)), 0x2d);
  EXPECT_EQ(waits_on_descriptor(call(SYS_futex, rest)), -1);
  EXPECT_EQ(waits_on_descriptor("running\n"), -1);
  EXPECT_EQ(waits_on_descriptor("-1 0x7ffe 0x7f01\n"), -1);
  EXPECT_EQ(waits_on_descriptor(""), -1);
  EXPECT_EQ(waits_on_descriptor(call(SYS_recvfrom, "")), -1);
  EXPECT_EQ(waits_on_descriptor(call(SYS_recvfrom, " 0x")), -1);
  EXPECT_EQ(waits_on_descriptor(call(SYS_recvfrom, " 0x2d")), -1);
  EXPECT_EQ(waits_on_descriptor(call(SYS_recvfrom, " 0x7f0012345678 0x0")), -1);
}

// A thread of ours that waits for what a client of ours at 127.0.0.9 sends.
TEST(ThreadClients, ThreadThatWaitsForItsClient) {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in server{};
  server.sin_family = AF_INET;
  server.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  auto* const address = reinterpret_cast<sockaddr*>(&server);
  socklen_t length = sizeof server;
  ASSERT_EQ(::bind(listener.get(), address, length), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), address, &length), 0);
  const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in own{};
  own.sin_family = AF_INET;
  ASSERT_EQ(::inet_pton(AF_INET, "127.0.0.9", &own.sin_addr), 1);
  ASSERT_EQ(::bind(client.get(), reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
  ASSERT_EQ(::connect(client.get(), address, length), 0);
  const UniqueFd accepted(::accept(listener.get(), nullptr, nullptr));
  ASSERT_GE(accepted.get(), 0);

  std::atomic<std::uint32_t> tid{0};
  std::thread waiting([&] {
    tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
    char byte;
    EXPECT_EQ(::recv(accepted.get(), &byte, 1, 0), 1);
  });
  const auto own_tid = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  std::map<std::uint32_t, std::string> clients;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  std::string problem;
  while (clients.empty() && problem.empty() && std::chrono::steady_clock::now() < until) {
    std::this_thread::yield();
    if (tid == 0) continue;
    auto found = records::clients_of_threads(RootedFs(), ::getpid(), {tid, own_tid, 1});
    if (found)
      clients = std::move(*found);
    else
      problem = found.error().message();
  }
  EXPECT_EQ(::send(client.get(), "x", 1, 0), 1);
  waiting.join();
  if (clients.empty() && ::access("/proc/thread-self/syscall", R_OK) != 0)
    GTEST_SKIP() << "no /proc/PID/task/TID/syscall here";
  EXPECT_EQ(problem, "");
  EXPECT_EQ(clients, (std::map<std::uint32_t, std::string>{{tid, "127.0.0.9"}}));
}

}  // namespace
