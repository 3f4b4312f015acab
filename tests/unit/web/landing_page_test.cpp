#include "web/page.h"

#include <gmock/gmock.h>

namespace ioc_exporter::web {
namespace {

using testing::HasSubstr;
using testing::Not;

exposition::StatusPage sample() {
  exposition::StatusPage page;
  page.name = "ioc_exporter";
  page.version = "0.1.0";
  page.description = "Prometheus exporter for EPICS IOC hosts";
  page.links = {{"/metrics", "Metrics", "for Prometheus"}, {"/-/healthy", "Health", ""}};
  page.ioc_columns = {{"pid", true}, {"EPICS Base"}};
  page.iocs = {{"power-supplies", true, "", {{"pid", "812"}, {"EPICS Base", "7.0.8.1"}}, ""},
               {"timing", false, "", {}, "the executable has no symbol pdbbase"}};
  page.tables = {{"Clients",
                  "who connected",
                  {{"client", false}, {"monitors", true}},
                  {{"10.0.0.7", "23"}, {"", "0"}},
                  "and 12 more"},
                 {"Searches", "in vain", {{"name", false}}, {}, "no more"}};
  page.origin.host = "ctl-7";
  page.probes = {{"record_process", true, "attached in 2 places"},
                 {"ca_tap", false, "not loaded", "no room"}};
  page.kernel_tables = {exposition::probes_table(page.probes)};
  page.notes = {"3 puts whose PV name is not known"};
  page.facts = {{"2", "IOCs", false}, {"1", "problem", true}};
  return page;
}

// Every element that is opened is closed, in order.
void expect_balanced(const std::string& html) {
  std::vector<std::string> open;
  for (std::size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const bool closes = html[at + 1] == '/';
    const std::size_t start = at + (closes ? 2 : 1);
    const std::string name = html.substr(start, html.find_first_of(" >", start) - start);
    if (name == "!DOCTYPE" || name == "meta") continue;
    if (!closes) {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty()) << name;
    EXPECT_EQ(open.back(), name);
    open.pop_back();
  }
  EXPECT_TRUE(open.empty());
}

TEST(LandingPage, ShowsItsTables) {
  const std::string html = render_landing_page(sample());
  EXPECT_EQ(html.rfind("<!DOCTYPE html>\n", 0), 0u);
  for (const char* text :
       {"<title>ioc_exporter: ctl-7</title>",
        "<h1>ioc_exporter <span class=\"dim\">ctl-7</span></h1>",
        "version 0.1.0",
        "<a href=\"/metrics\">Metrics</a>",
        "for Prometheus",
        "<td class=\"\" data-name=\"IOC\">power-supplies</td>",
        "<td class=\"number\" data-name=\"pid\">812</td>",
        "<td class=\"\" data-name=\"EPICS Base\">7.0.8.1</td>",
        "<div class=\"fact\"><strong>2</strong><span class=\"dim\">IOCs</span></div>",
        "<div class=\"fact bad\"><strong>1</strong>",
        "<h2>Clients</h2>",
        "who connected",
        "<tr><th>client</th><th class=\"number\">monitors</th></tr>",
        "<td class=\"\" data-name=\"client\">10.0.0.7</td>",
        "<tr><td class=\"\" data-name=\"client\"></td><td class=\"number\" "
        "data-name=\"monitors\">0<",
        "and 12 more",
        ">timing</td>",
        "the executable has no symbol pdbbase",
        "<td class=\"bad\" data-name=\"problem\">no room</td>",
        "3 puts whose PV name"})
    EXPECT_THAT(html, HasSubstr(text));
  EXPECT_THAT(html, Not(HasSubstr("Searches")));  // a table without rows is no section
  EXPECT_THAT(html, Not(HasSubstr("attached in 2 places")));
  EXPECT_THAT(render_kernel_page(sample()), HasSubstr("attached in 2 places"));
  expect_balanced(html);
}

TEST(LandingPage, SaysWhenThereIsNoIoc) {
  exposition::StatusPage page = sample();
  page.iocs.clear();
  page.probes.clear();
  page.notes.clear();
  const std::string html = render_landing_page(page);
  EXPECT_THAT(html, HasSubstr("No IOC runs on this host."));
  EXPECT_THAT(html, Not(HasSubstr("Probes")));
  expect_balanced(html);
}

TEST(LandingPage, EscapesEveryText) {
  const std::string evil = "<script>\"'&\x01";
  exposition::StatusPage page;
  page.name = page.version = page.description = evil;
  page.links = {{evil, evil, evil}};
  page.ioc_columns = {{evil}};
  page.iocs = {{evil, true, evil, {{evil, evil}}, evil}};
  page.tables = {{evil, evil, {{evil, true}}, {{evil}}, evil}};
  page.probes = {{evil, true, evil}};
  page.notes = {evil};
  page.facts = {{evil, evil, true}};
  const std::string html = render_landing_page(page);
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("\x01")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;&quot;&#39;&amp;?"));
  expect_balanced(html);
}

TEST(LandingPage, NeedsNothingFromElsewhere) {
  const std::string html = render_landing_page(sample());
  for (const char* text : {"http://", "https://", "<script", "@import", "url(", "<link", "<img"})
    EXPECT_THAT(html, Not(HasSubstr(text)));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
}

}  // namespace
}  // namespace ioc_exporter::web
