// The sink that sends to Loki.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "events.h"
#include "putlog/loki_sink.h"
#include "support/answering_server.h"

namespace ioc_exporter::putlog {
namespace {

// Loki's HTTP API, written from its description (POST /loki/api/v1/push): there is no Loki here.

// Answers one request with that status.
class Loki {
 public:
  explicit Loki(int status) : server_({http_answer(status, "why")}) {}

  Sink::Delivered deliver(std::size_t count, bool metadata = true) const {
    delivery::HttpReceiver receiver{server_.url(), {"ada:secret", {}}, {{"X-Scope-OrgID", "site"}}};
    return LokiSink(std::move(receiver), metadata).deliver(entries(1, count));
  }
  const std::string& request() { return server_.requests().at(0); }

 private:
  AnsweringServer server_;
};

TEST(LokiSinkTest, PushesAStreamForEachIoc) {
  std::vector<Entry> two = entries(1, 2);
  PutEvent other = event(3);
  other.ioc = "vac\"";
  two.push_back({shared(other)});
  const LokiPush push = loki_push(two, true);
  EXPECT_EQ(push.entries, 3u);
  const auto streams = nlohmann::json::parse(push.body).at("streams");
  ASSERT_EQ(streams.size(), 2u);
  EXPECT_EQ(streams[0].at("stream"), (nlohmann::json{{"job", "ioc_exporter"}, {"ioc", "ps"}}));
  EXPECT_EQ(streams[1].at("stream").at("ioc"), "vac\"");
  const auto& value = streams[0].at("values").at(0);
  EXPECT_EQ(value.at(0), std::to_string(event(1).time.time_since_epoch().count()));
  EXPECT_EQ(nlohmann::json::parse(value.at(1).get<std::string>()).at("seq"), 1);
  EXPECT_EQ(value.at(2),
            (nlohmann::json{{"pv", "SR:I"}, {"user", "ada"}, {"client", "10.0.0.7:4711"}}));
  EXPECT_EQ(nlohmann::json::parse(loki_push(two, false).body)["streams"][0]["values"][0].size(),
            2u);
}

TEST(LokiSinkTest, APushHasABound) {
  std::vector<Entry> large;
  PutEvent one = event(1);
  one.value = Value{std::vector<Element>(10'000, 0.5), true};
  for (int i = 0; i < 100; ++i) large.push_back({shared(one)});
  const LokiPush push = loki_push(large, true);
  EXPECT_LT(push.body.size(), 1u << 20);
  EXPECT_GT(push.entries, 1u);
  EXPECT_LT(push.entries, 100u);
}

TEST(LokiSinkTest, AcknowledgedLinesAreDelivered) {
  Loki loki(204);
  const auto done = loki.deliver(23);
  EXPECT_EQ(done.entries, 23u);
  EXPECT_FALSE(done.problem);
  const std::string& request = loki.request();
  EXPECT_TRUE(request.starts_with("POST /loki/api/v1/push HTTP/1.1\r\n")) << request;
  for (const char* header :
       {"\r\nX-Scope-OrgID: site\r\n", "\r\nContent-Type: application/json\r\n",
        "\r\nAuthorization: Basic YWRhOnNlY3JldA==\r\n"})
    EXPECT_NE(request.find(header), std::string::npos) << header;
  EXPECT_TRUE(nlohmann::json::accept(request.substr(request.find("\r\n\r\n") + 4)));
}

TEST(LokiSinkTest, TemporaryFailuresAreRetriedAndOthersRefused) {
  for (const auto& [status, refused] :
       {std::pair{500, 0u}, {429, 0u}, {401, 0u}, {400, 23u}, {413, 23u}}) {
    const Loki loki(status);
    const auto done = loki.deliver(23);
    EXPECT_EQ(done.entries, 0u);
    EXPECT_EQ(done.refused, refused) << status;
    ASSERT_TRUE(done.problem);
    EXPECT_THAT(done.problem->message(),
                testing::HasSubstr("status " + std::to_string(status) + ": why"));
  }
}

}  // namespace
}  // namespace ioc_exporter::putlog
