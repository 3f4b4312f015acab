#include "puts/who_wrote_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/query.h"
#include "web/server.h"

namespace ioc_exporter::ca {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

CommandResult run(const std::vector<const char*>& arguments) {
  return who_wrote_command(static_cast<int>(arguments.size()), arguments.data());
}

WhoWrote sample() {
  WhoWrote answer;
  answer.pv = "R1";
  answer.records = {{"one", "R1", "R1", "VAL"}};
  answer.puts = {
      {"one", "R1.VAL", "10.0.0.7", "operator", "console1", PutOp::write_notify, 23, 1000},
      {"one", "R1", "10.0.0.8", "", "evil\x1b[2J", PutOp::write, 7, 0}};
  answer.counting_since_seconds = 400;
  return answer;
}

TEST(WhoWroteText, OneLineForEachWriter) {
  const CommandResult result = who_wrote_text(sample(), 20, 1200);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  const std::string& out = result.out;
  EXPECT_THAT(out, StartsWith("TIME "));
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 3);
  EXPECT_THAT(
      out,
      HasSubstr("  3 min 20 s  one  R1.VAL  10.0.0.7  operator  console1  write_notify  23\n"));
  EXPECT_THAT(
      out, HasSubstr("  -           one  R1      10.0.0.8  -         evil_[2J  write         7\n"));
}

TEST(WhoWroteText, TheRestIsCounted) {
  WhoWrote answer = sample();
  answer.unnamed_puts = 11;
  answer.problem = "not all puts could be read";
  CommandResult result = who_wrote_text(answer, 1, 1200);
  EXPECT_THAT(result.out, HasSubstr("... and 1 more that wrote before"));
  EXPECT_THAT(result.out, Not(HasSubstr("10.0.0.8")));
  EXPECT_THAT(result.err, HasSubstr("11 puts on channels whose PV name"));
  EXPECT_THAT(result.err, HasSubstr("not all puts could be read\n"));
  result = who_wrote_text(answer, 0, 1200);
  EXPECT_THAT(result.out, HasSubstr("10.0.0.8"));
  EXPECT_THAT(result.out, Not(HasSubstr("more")));
}

TEST(WhoWroteText, Nobody) {
  WhoWrote answer = sample();
  answer.puts.clear();
  CommandResult result = who_wrote_text(answer, 20, 1200);
  EXPECT_EQ(result.status, 3);
  EXPECT_THAT(result.out, StartsWith("Nobody wrote to R1 since the exporter started, "));
  EXPECT_THAT(result.out, HasSubstr(" (13 min 20 s ago); it is a record of ioc one.\n"));
  answer.records.clear();
  result = who_wrote_text(answer, 20, 1200);
  EXPECT_EQ(result.status, 3);
  EXPECT_THAT(result.out, HasSubstr("; no IOC of its host is known to have that record.\n"));
}

TEST(WhoWroteCommand, Usage) {
  EXPECT_EQ(run({}).status, 2);
  EXPECT_THAT(run({}).err, HasSubstr("no PV was given (see ioc_exporter who-wrote --help)"));
  EXPECT_THAT(run({"A", "B"}).err, HasSubstr("one PV at a time: A and B"));
  EXPECT_THAT(run({"A", "--limit=x"}).err, HasSubstr("--limit: \"x\" is no number"));
  EXPECT_THAT(run({"A", "--limit"}).err, HasSubstr("without its value: --limit"));
  EXPECT_THAT(run({"A", "--URL=x"}).err, HasSubstr("unknown option"));
  const CommandResult help = run({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* word : {"SYNOPSIS", "--url=URL", "--limit=N", "--json", "EXIT STATUS"})
    EXPECT_THAT(help.out, HasSubstr(word));
}

class WhoWroteServer : public ::testing::Test {
 protected:
  void SetUp() override {
    web::ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    options.routes[kWhoWrotePath] = [](const web::Request& request) {
      const std::string pv = query_value(request.query, "pv").value_or("");
      if (pv == "bad") return web::Response{500, "text/plain", "500 on purpose\n"};
      if (pv == "other") return web::Response{200, "text/html", "<html>"};
      WhoWrote answer = sample();
      answer.pv = pv;
      return web::Response{200, "application/json", ca::to_json(answer)};
    };
    auto server = web::Server::start(std::move(options));
    ASSERT_TRUE(server) << server.error().message();
    server_ = std::move(*server);
    url_ = "--url=http://127.0.0.1:" + std::to_string(server_->port());
  }
  CommandResult ask(const char* pv, const char* more = "--limit=20") {
    return run({url_.c_str(), more, pv});
  }

  std::unique_ptr<web::Server> server_;
  std::string url_;
};

TEST_F(WhoWroteServer, AsksWithAnyNameAndPrints) {
  const CommandResult result = ask("A b+c&d=e%41.VAL{\"x\":1}");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("operator"));
  const CommandResult json = ask("A b+c&d=e%41.VAL{\"x\":1}", "--json");
  const auto answer = who_wrote_from_json(json.out);
  ASSERT_TRUE(answer) << json.out;
  EXPECT_EQ(answer->pv, "A b+c&d=e%41.VAL{\"x\":1}");
  url_ += "/";
  EXPECT_EQ(ask("R1").status, 0) << "a slash at the end does no harm";
}

TEST_F(WhoWroteServer, SaysWhatTheAnswerWas) {
  CommandResult result = ask("bad");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("it answers with HTTP status 500: 500 on purpose"));
  result = ask("other");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("it answers, but not as ioc_exporter does: "));
  url_ += "/elsewhere";
  EXPECT_THAT(ask("R1").err, HasSubstr("HTTP status 404"));
}

TEST_F(WhoWroteServer, NobodyAnswers) {
  server_.reset();
  const CommandResult result = ask("R1");
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out, "");
  const std::string url = url_.substr(std::string("--url=").size());
  EXPECT_EQ(result.err, "ioc_exporter who-wrote: ask the exporter at " + url +
                            ": connect to 127.0.0.1 port " + url.substr(url.rfind(':') + 1) +
                            ": Connection refused (does ioc_exporter run there? --url says where "
                            "it listens)\n");
}

}  // namespace
}  // namespace ioc_exporter::ca
