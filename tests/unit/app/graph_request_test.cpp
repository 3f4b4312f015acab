#include "app/graph_request.h"

#include <gmock/gmock.h>

#include "records/families/samples.h"

namespace ioc_exporter::app {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<IocSample> two_iocs() {
  auto database = std::make_shared<Database>();
  database->types = {"calc", "ao"};
  database->records = {{0x1000, "P:scan", 0}, {0x2000, "P:<b>", 0}, {0x3000, "P:c", 1}};
  database->aliases = {{"P:nick", 0}};
  std::vector<IocSample> all;
  IocSample ioc;
  ioc.name = "ps";
  ioc.up = true;
  ioc.database = database;
  RecordSample counts;
  counts.record = 0;
  counts.processed = 23;
  counts.self_ns = 46'000;
  ioc.records = {counts};
  ioc.links = {{0, 1, 23}, {1, 2, 7}, {0, UINT32_MAX, 1}};
  all = {ioc};
  ioc.name = "other";
  ioc.links.clear();
  auto alone = std::make_shared<Database>(*database);
  alone->records[2].name = "P:elsewhere";
  ioc.database = alone;
  all.push_back(ioc);
  return all;
}

web::Response ask(const std::string& query, bool links_counted = true) {
  web::Request request;
  request.query = query;
  return answer_graph(two_iocs(), links_counted, request);
}

TEST(GraphRequest, DotOfARecord) {
  const auto answer = ask("record=P:scan&ioc=ps&format=dot");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.content_type, "text/vnd.graphviz; charset=utf-8");
  EXPECT_THAT(answer.body, HasSubstr("P:scan\\ncalc\\n23 ×, self 2 µs each\\n46 µs in all"));
  EXPECT_THAT(answer.body, HasSubstr("n0 -> n1 [label=\"23\"]"));
  EXPECT_THAT(answer.body, HasSubstr("n1 -> n2 [label=\"7\"]"));
  EXPECT_EQ(answer.body, ask("record=P:nick&ioc=ps&format=dot").body) << "an alias";
}

TEST(GraphRequest, DepthBoundsIt) {
  const auto answer = ask("record=P:scan&ioc=ps&depth=1&format=dot");
  EXPECT_THAT(answer.body, HasSubstr("P:<b>"));
  EXPECT_THAT(answer.body, Not(HasSubstr("P:c")));
  for (const char* depth : {"-1", "x", "101", "1x", "99999999999"})
    EXPECT_EQ(ask("record=P:scan&ioc=ps&depth=" + std::string(depth)).status, 400) << depth;
}

TEST(GraphRequest, PageHasTheFormAndTheRecordsAsATree) {
  const auto answer = ask("record=P:scan&ioc=ps");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.content_type, "text/html; charset=utf-8");
  EXPECT_THAT(answer.body, HasSubstr("<input name=\"record\" size=\"32\" value=\"P:scan\">"));
  const std::string indent = "\u00A0\u00A0\u00A0\u00A0";
  EXPECT_THAT(answer.body,
              HasSubstr("<tr><td>P:scan</td><td>calc</td><td class=\"number\">–</td>"
                        "<td class=\"number\">23</td><td class=\"number\">2 µs</td>"
                        "<td class=\"number\">46 µs</td><td class=\"number\">100.0 %</td></tr>"));
  EXPECT_THAT(answer.body, HasSubstr("<td>" + indent +
                                     "P:&lt;b&gt;</td><td>calc</td>"
                                     "<td class=\"number\">23</td><td class=\"number\">0</td>"));
  EXPECT_THAT(answer.body, HasSubstr("<td>" + indent + indent +
                                     "P:c</td><td>ao</td>"
                                     "<td class=\"number\">7</td>"));
  EXPECT_THAT(answer.body, Not(HasSubstr("P:<b>")));
  EXPECT_THAT(answer.body, Not(HasSubstr("<script")));
  EXPECT_THAT(answer.body, HasSubstr("?record=P%3Ascan&amp;ioc=ps&amp;depth=5&amp;format=dot"));
  EXPECT_THAT(answer.body, HasSubstr("?record=P%3Ascan&amp;ioc=ps&amp;depth=5&amp;format=text"));
  EXPECT_EQ(answer.body, ask("record=P:scan&ioc=ps&format=tree").body);
  EXPECT_THAT(ask("").body, HasSubstr("<form"));
  EXPECT_THAT(ask("format=tree").body, HasSubstr("<form"));
}

TEST(GraphRequest, TextIsTheSameTree) {
  const auto answer = ask("record=P:scan&ioc=ps&format=text");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.content_type, "text/plain; charset=utf-8");
  EXPECT_EQ(answer.body,
            "RECORD   TYPE  LINK FOLLOWED  PROCESSED  SELF, EACH  SELF, IN ALL  SHARE\n"
            "P:scan   calc  -              23         2 µs        46 µs         100.0 %\n"
            "  P:<b>  calc  23             0          -           -             -\n"
            "    P:c  ao    7              0          -           -             -\n");
}

TEST(GraphRequest, OmittedRecordsAreReported) {
  const char* said =
      "Links are left out: shown are at most 250 records and 500 links, the most followed ones, to "
      "depth 1.";
  EXPECT_THAT(ask("record=P:scan&ioc=ps&depth=1").body, HasSubstr(said));
  EXPECT_THAT(ask("record=P:scan&ioc=ps&depth=1&format=text").body, HasSubstr(said));
  EXPECT_THAT(ask("record=P:scan&ioc=ps").body, Not(HasSubstr("left out")));
}

TEST(GraphRequest, PicturesAreMadeElsewhere) {
  const auto answer = ask("record=P:scan&ioc=ps&format=svg");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("dot -Tsvg"));
}

TEST(GraphRequest, ErrorsNameTheMissingPart) {
  EXPECT_EQ(ask("format=dot").status, 400);
  EXPECT_EQ(ask("format=text").status, 400);
  EXPECT_EQ(ask("record=P:scan&format=png").status, 400);
  EXPECT_EQ(ask("record=P:none").status, 404);
  EXPECT_THAT(ask("record=P:none&ioc=ps").body, HasSubstr("no running IOC ps has a record P:none"));
  const auto several = ask("record=P:scan");
  EXPECT_EQ(several.status, 400);
  EXPECT_THAT(several.body, HasSubstr("one of ps other"));
  EXPECT_EQ(ask("record=P:elsewhere&format=dot").status, 200) << "one IOC has it";
  const auto off = ask("record=P:scan", false);
  EXPECT_EQ(off.status, 404);
  EXPECT_THAT(off.body, HasSubstr("--records.links=N"));
}

}  // namespace
}  // namespace ioc_exporter::app
