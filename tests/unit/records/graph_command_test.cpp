#include "records/graph_command.h"

#include <gmock/gmock.h>

#include "records/families/samples.h"
#include "records/graph.h"

#include <fstream>

#include "app/graph_request.h"
#include "support/value_of.h"
#include "web/server.h"

namespace ioc_exporter::records {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

CommandResult run(const std::vector<const char*>& arguments) {
  return graph_command(static_cast<int>(arguments.size()), arguments.data());
}

TEST(GraphCommand, Usage) {
  EXPECT_EQ(run({}).status, 2);
  EXPECT_EQ(run({}).err,
            "ioc_exporter graph: no record was given (see ioc_exporter graph --help)\n");
  EXPECT_THAT(run({"A", "B"}).err, HasSubstr("one record at a time: A and B"));
  EXPECT_THAT(run({"A", "--format=svg"}).err,
              HasSubstr("--format: \"svg\" is neither tree nor dot"));
  for (const char* depth : {"--depth=", "--depth=-1", "--depth=101", "--depth=1x", "--depth=9999"})
    EXPECT_THAT(run({"A", depth}).err, HasSubstr("is no whole number from 0 to 100")) << depth;
  EXPECT_THAT(run({"A", "--ioc"}).err, HasSubstr("option without its value: --ioc"));
  EXPECT_THAT(run({"A", "--IOC=x"}).err, HasSubstr("unknown option: --IOC=x"));
  EXPECT_THAT(run({"A", "-x"}).err, HasSubstr("unknown option: -x"));
  const CommandResult help = run({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* word : {"SYNOPSIS", "--url=URL", "--depth=N", "--format=tree|dot", "--ioc=IOC",
                           "--login-file=FILE", "EXIT STATUS"})
    EXPECT_THAT(help.out, HasSubstr(word));
}

class GraphServer : public testing::Test {
 protected:
  void SetUp() override {
    web::ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    options.routes[kGraphPath] = [this](const web::Request& request) {
      asked_with_ = request.authorization;
      return answer_.empty() ? app::answer_graph(snapshot(), true, request)
                             : web::Response{200, content_type_, answer_};
    };
    server_ = value_of(web::Server::start(std::move(options)));
    url_ = "http://127.0.0.1:" + std::to_string(server_->port());
  }

  static std::vector<IocSample> snapshot() {
    auto database = std::make_shared<Database>();
    database->types = {"calc", "ao"};
    database->records = {{0x1000, "P:a b{\"x\":1,\"y\":2}", 0}, {0x2000, "P:c", 1}};
    std::vector<IocSample> all;
    IocSample ioc;
    ioc.up = true;
    ioc.database = database;
    ioc.links = {{0, 1, 23}, {1, 0, 7}};
    for (const char* name : {"ps", "a&b"}) {
      ioc.name = name;
      all.push_back(ioc);
    }
    return all;
  }

  CommandResult ask(const char* record, std::vector<const char*> more = {"--ioc=ps"}) {
    more.insert(more.begin(), {"--url", url_.c_str(), record});
    return run(more);
  }

  std::string url_, answer_, content_type_ = "text/plain", asked_with_;
  std::unique_ptr<web::Server> server_;
};

TEST_F(GraphServer, PrintsTheTree) {
  for (const char* ioc : {"--ioc=ps", "--ioc=a&b"}) {
    const CommandResult result = ask("P:a b{\"x\":1,\"y\":2}", {ioc});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_THAT(result.out, StartsWith("RECORD  "));
    EXPECT_THAT(result.out, HasSubstr("\nP:a b{\"x\":1,\"y\":2}      calc  -  "));
    EXPECT_THAT(result.out, HasSubstr("\n  P:c                   ao    23 "));
    EXPECT_THAT(result.out, HasSubstr("\n    P:a b{\"x\":1,\"y\":2}  -     7 "));
    EXPECT_THAT(result.out, HasSubstr("cycle"));
  }
}

TEST_F(GraphServer, PrintsDotAndLooksAsDeepAsAsked) {
  CommandResult result = ask("P:c", {"--ioc", "ps", "--format", "dot"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("digraph records {\n  rankdir=LR;\n"));
  EXPECT_THAT(result.out, HasSubstr("\n  n0 -> n1 [label=\"7\"];\n"));
  result = ask("P:c", {"--ioc=ps", "--depth=0"});
  EXPECT_THAT(result.out, HasSubstr("links that are left out\n"));
  EXPECT_THAT(result.out, HasSubstr("\nLinks are left out: "));
}

TEST_F(GraphServer, PrintsTheExportersError) {
  CommandResult result = ask("P:none");
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "ioc_exporter graph: ask the exporter at " + url_ +
                            ": it answers with HTTP status 404: 404 no running IOC ps has a record "
                            "P:none\n");
  EXPECT_THAT(ask("P:c", {}).err, HasSubstr("add &ioc=NAME, one of ps a&b"));
  answer_ = "<html>RECORD";
  content_type_ = "text/html";
  result = ask("P:c");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("it answers, but not as ioc_exporter does: "));
}

TEST_F(GraphServer, TheLoginComesFromItsFile) {
  EXPECT_EQ(ask("P:c").status, 0);
  EXPECT_EQ(asked_with_, "");
  const std::string file = testing::TempDir() + "graph_login";
  const std::string option = "--login-file=" + file;
  std::ofstream(file) << "ann:secret\nnot this\n";
  EXPECT_EQ(ask("P:c", {"--ioc=ps", option.c_str()}).status, 0);
  EXPECT_EQ(asked_with_, "Basic YW5uOnNlY3JldA==");
  std::ofstream(file) << "secret\n";
  CommandResult result = ask("P:c", {"--ioc=ps", option.c_str()});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr(file + ": its first line is not USER:PASSWORD"));
  result = ask("P:c", {"--ioc=ps", "--login-file=/nowhere/login"});
  EXPECT_THAT(result.err, HasSubstr("read /nowhere/login: No such file or directory"));
}

TEST_F(GraphServer, NothingSteersTheTerminal) {
  answer_ = "RECORD  TYPE\n  a\x1b[2J\r\n\n\x9b x";
  const CommandResult result = ask("P:c");
  EXPECT_EQ(result.out, "RECORD  TYPE\n  a_[2J_\n\n_ x\n");
}

TEST_F(GraphServer, NobodyAnswers) {
  server_.reset();
  const CommandResult result = ask("P:c");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr(": Connection refused (does ioc_exporter run there?"));
}

}  // namespace
}  // namespace ioc_exporter::records
