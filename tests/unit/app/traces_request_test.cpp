// /api/v1/traces, by requests and through a real server with its command.
#include "app/traces_request.h"

#include <gmock/gmock.h>

#include <mutex>
#include <sstream>
#include <utility>

#include "support/value_of.h"
#include "traces/json.h"
#include "traces/trace_command.h"
#include "traces/trace_query.h"
#include "web/server.h"

namespace ioc_exporter::app {
namespace {

using namespace std::chrono_literals;
using traces::SharedTrace;
using traces::Span;
using traces::Trace;

SharedTrace trace_of(std::uint8_t number, const std::string& record) {
  Trace trace;
  trace.id[15] = number;
  trace.ioc = "ps";
  trace.cause.kind = "scan";
  trace.cause.scan = "1 second";
  trace.why = {"asked"};
  Span span;
  span.id = 1;
  span.name = record;
  span.start = std::chrono::system_clock::now();
  span.duration = span.self = 2ms;
  trace.spans.push_back(span);
  span.id = 2;
  span.parent = 1;
  span.name = "RB";
  span.duration = span.self = 1ms;
  trace.spans.front().self = 1ms;
  trace.spans.push_back(span);
  return std::make_shared<const Trace>(std::move(trace));
}

// Takes demands, and gives a trace for each: whoever asks follows already.
class Taker : public traces::DemandTaker {
 public:
  explicit Taker(std::shared_ptr<traces::TraceRing> ring) : ring_(std::move(ring)) {}
  Result<std::size_t> ask(const traces::Demand& demand) override {
    const std::scoped_lock lock(mutex_);
    asked_.push_back(demand);
    if (demand.records.text() == "none") return std::size_t{0};
    if (demand.records.text() == "many") return error_in_words("too many are asked for");
    ring_->receive(std::vector{trace_of(7, "A"), trace_of(8, "B")});
    return std::size_t{2};
  }
  void end(const std::string& holder, const std::string& ticket) override {
    const std::scoped_lock lock(mutex_);
    ended_.push_back(holder + " " + ticket);
  }
  std::vector<std::string> ended() const {
    const std::scoped_lock lock(mutex_);
    return ended_;
  }
  std::vector<traces::Demand> asked() const {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }

 private:
  std::shared_ptr<traces::TraceRing> ring_;
  mutable std::mutex mutex_;
  std::vector<traces::Demand> asked_;
  std::vector<std::string> ended_;
};

class TracesRequestTest : public testing::Test {
 protected:
  static web::Request request(const std::string& query) {
    web::Request request;
    request.query = query;
    request.remote = "10.0.0.7";
    return request;
  }
  web::Response ask(const std::string& query) const { return answer_traces(ring_, request(query)); }
  std::unique_ptr<web::Server> serve() {
    web::ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    options.routes[traces::kTracesPath] = [this](const web::Request& request) {
      return answer_traces(ring_, request);
    };
    options.local_actions[traces::kTracesPath] = [this](const web::Request& request) {
      return answer_demand(&taker_, request);
    };
    auto server = value_of(web::Server::start(std::move(options)));
    url_ = "--url=http://127.0.0.1:" + std::to_string(server->port());
    return server;
  }
  struct Ended {
    int status;
    std::string out, err;
  };
  static std::string text_of(std::FILE* file) {
    std::rewind(file);
    std::string text;
    char piece[4096];
    for (std::size_t got = 0; (got = std::fread(piece, 1, sizeof piece, file)) > 0;)
      text.append(piece, got);
    std::fclose(file);
    return text;
  }
  Ended run(std::vector<std::string> words) const {
    words.push_back(url_);
    std::vector<const char*> arguments;
    for (const std::string& word : words) arguments.push_back(word.c_str());
    std::FILE* const out = std::tmpfile();
    CommandResult result = ioc_exporter::run(
        traces::trace_command(), static_cast<int>(arguments.size()), arguments.data(), out);
    return {result.status, text_of(out) + result.out, std::move(result.err)};
  }

  std::shared_ptr<traces::TraceRing> ring_ =
      std::make_shared<traces::TraceRing>(delivery::RingBounds{100});
  Taker taker_{ring_};
  std::string url_ = "--url=http://127.0.0.1:1";
};

TEST_F(TracesRequestTest, AQueryIsAnsweredWithLines) {
  ring_->receive(std::vector{trace_of(1, "A"), trace_of(2, "B"), trace_of(3, "A")});
  const auto answer = ask("record=A&since=1m&slower=2ms");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.content_type, "application/x-ndjson");
  std::istringstream lines(answer.body);
  std::vector<int> numbers;
  for (std::string line; std::getline(lines, line);)
    numbers.push_back(traces::trace_from_json(line)->id[15]);
  EXPECT_EQ(numbers, (std::vector{1, 3}));
  EXPECT_EQ(ask("record=C").body, "");
  EXPECT_EQ(ask("record=(").status, 400);
  ring_.reset();
  EXPECT_EQ(ask("").status, 404);
  EXPECT_EQ(answer_demand(nullptr, request("record=A")).status, 404);
}

TEST_F(TracesRequestTest, ADemandIsPassedOn) {
  const auto answer = answer_demand(&taker_, request("record=A&for=90s"));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "{\"records\":2,\"seconds\":90}");
  EXPECT_EQ(answer_demand(&taker_, request("record=many")).status, 503);
  EXPECT_EQ(answer_demand(&taker_, request("for=1s")).status, 400);
  EXPECT_EQ(taker_.asked().size(), 2u);
  EXPECT_EQ(taker_.asked().front().lasts, 90s);
}

TEST_F(TracesRequestTest, ADemandEndsWithItsFollower) {
  auto answer = answer_traces(ring_, request("record=A&follow=1&demand=t7"), &taker_);
  ASSERT_TRUE(answer.stream);
  EXPECT_EQ(answer_demand(&taker_, request("record=A&demand=t7")).status, 200);
  EXPECT_EQ(taker_.asked().front().ticket, "t7");
  EXPECT_EQ(taker_.asked().front().holder, "10.0.0.7");
  EXPECT_TRUE(answer.stream->next());
  EXPECT_TRUE(taker_.ended().empty());
  answer.stream.reset();
  EXPECT_EQ(taker_.ended(), std::vector<std::string>{taker_.asked().front().holder + " t7"});
  EXPECT_TRUE(answer_traces(ring_, request("record=A&follow=1"), &taker_).stream);
  EXPECT_EQ(taker_.ended().size(), 1u);
  EXPECT_EQ(ask("demand=" + std::string(65, 'a')).status, 400);
}

TEST_F(TracesRequestTest, PagesOfOtherSitesFollowNothing) {
  const auto status = [this](const std::string& site, const std::string& origin) {
    web::Request asked = request("follow=1");
    asked.host = "ioc-host:10064";
    asked.fetch_site = site;
    asked.origin = origin;
    return answer_traces(ring_, asked).status;
  };
  EXPECT_EQ(status("", ""), 200);
  EXPECT_EQ(status("same-origin", ""), 200);
  EXPECT_EQ(status("", "http://IOC-host:10064"), 200);
  EXPECT_EQ(status("cross-site", ""), 403);
  EXPECT_EQ(status("", "http://evil.example"), 403);
  EXPECT_EQ(status("", "http://ioc-host"), 403);
  EXPECT_EQ(status("", "null"), 403);
}

TEST_F(TracesRequestTest, FollowingEndsWhenItWasToEnd) {
  const auto answer = ask("follow=1&for=1ms");
  ASSERT_TRUE(answer.stream);
  ring_->receive(std::vector{trace_of(1, "A")});
  std::string all;
  while (const auto piece = answer.stream->next()) all += *piece;
  EXPECT_TRUE(
      all.starts_with("retry: 3000\n\nid: 00000000000000000000000000000001\ndata: {\"time\":"))
      << all;
}

TEST_F(TracesRequestTest, TheCommandPrintsLiveTraces) {
  const auto server = serve();
  ring_->receive(std::vector{trace_of(1, "A")});  // before
  const Ended ended = run({"A", "--for=5s", "--slower=1ms"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_NE(ended.out.find("trace 00000000000000000000000000000007; chosen: asked\n"),
            std::string::npos)
      << ended.out;
  EXPECT_NE(ended.out.find("  * A\n"), std::string::npos);
  EXPECT_EQ(ended.out.find("trace 00000000000000000000000000000001"), std::string::npos);
  EXPECT_EQ(ended.out.find("trace 00000000000000000000000000000008"), std::string::npos);  // of B
  EXPECT_EQ(only(taker_.asked()).slower, 1ms);
  EXPECT_EQ(only(taker_.asked()).lasts, 5s);
}

TEST_F(TracesRequestTest, TheCommandPrintsTracesInMemory) {
  const auto server = serve();
  ring_->receive(std::vector{trace_of(1, "A"), trace_of(2, "B")});
  EXPECT_EQ(run({"B", "--since=1m", "--json"}).out,
            traces::to_json(*ring_->find({}, {})->back()) + "\n");
  const Ended none = run({"C", "--since=1m"});
  EXPECT_EQ(none.status, 3);
  EXPECT_EQ(none.out + none.err, "");
  EXPECT_TRUE(taker_.asked().empty());
}

TEST_F(TracesRequestTest, TheCommandPrintsErrors) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"A", "B"},
                                                {"("},
                                                {"A", "--for=11m"},
                                                {"A", "--cause=no"},
                                                {"A", "--slower=x"},
                                                {"A", "--since=1m", "--for=1s"},
                                                {"A", "--nonsense"}})
    EXPECT_EQ(run(words).status, 2) << testing::PrintToString(words);
  EXPECT_EQ(run({"A"}).status, 1);
  EXPECT_EQ(run({"A", "--since=1m"}).status, 1);
  const auto server = serve();
  const Ended none = run({"none"});
  EXPECT_EQ(none.status, 3);
  EXPECT_EQ(none.err, "ioc_exporter trace: no IOC has such a record: none\n");
  const Ended many = run({"many"});
  EXPECT_EQ(many.status, 1);
  EXPECT_NE(many.err.find("HTTP status 503: 503 too many are asked for"), std::string::npos);
}

}  // namespace
}  // namespace ioc_exporter::app
