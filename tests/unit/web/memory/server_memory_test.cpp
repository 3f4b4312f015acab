// Memory that the server keeps of its answers. A program of its own: sanitizers have a heap
// of theirs, so it is never built with them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "http_client.h"
#include "test_server.h"

namespace ioc_exporter::web {
namespace {

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Large answers, made by one thread after the other, of pieces that grow as those of a scrape do.
TEST(ServerMemory, KeepsNothingOfItsAnswers) {
  ServerOptions options = options_on({"127.0.0.1:0"});
  options.unlimited = {"/large"};
  options.routes["/large"] = [&](const Request&) {
    std::vector<std::string> lines;
    for (int i = 0; i < 40000; ++i) lines.emplace_back(200, 'x');
    std::string body;
    for (int i = 0; i < 4; ++i)
      for (const std::string& line : lines) body += line;
    return Response{200, "text/plain", std::move(body)};
  };
  const auto server = start(std::move(options));
  for (int round = 0; round < 4; ++round) {
    std::vector<std::future<Answer>> answers;
    for (int i = 0; i < 8; ++i)
      answers.push_back(
          std::async(std::launch::async, ask, server->port(), "GET", "/large", "", ""));
    for (auto& answer : answers) EXPECT_EQ(answer.get().body.size(), 32'000'000u);
  }
  EXPECT_LT(resident_bytes(), 250u << 20);  // one answer is 32 MB; kept by all, they were 970
}

}  // namespace
}  // namespace ioc_exporter::web
