#include "web/markdown.h"

#include <gtest/gtest.h>

#include <string>

namespace ioc_exporter::web {
namespace {

// Below the title.
std::string body_of(std::string_view markdown) {
  const std::string page = render_markdown(markdown, "/runbooks/");
  const auto start = page.find("</h1>\n") + 6;
  return page.substr(start, page.find("</body>") - start);
}

TEST(Markdown, FirstHeadingIsTheTitle) {
  const std::string page = render_markdown("# Epics<1>\n\n## Meaning\n", "/runbooks/");
  EXPECT_NE(page.find("<title>Epics&lt;1&gt;</title>"), std::string::npos);
  EXPECT_EQ(body_of("# A\n\n## Meaning\n\n### More\n"), "<h2>Meaning</h2>\n<h3>More</h3>\n");
}

TEST(Markdown, LinesOfAParagraphAndOfAnItemBelongTogether) {
  EXPECT_EQ(body_of("One\ntwo.\n\nThree.\n"), "<p>One\ntwo.</p>\n<p>Three.</p>\n");
  EXPECT_EQ(body_of("1. One\n   two.\n2. Three.\n- Four.\n\nFive.\n"),
            "<ol>\n<li>One\ntwo.</li>\n<li>Three.</li>\n</ol>\n<ul>\n<li>Four.</li>\n</ul>\n"
            "<p>Five.</p>\n");
}

TEST(Markdown, CodeStaysAsItIs) {
  EXPECT_EQ(body_of("See `a * [b](c) < d`, *e*, **s**.\n"),
            "<p>See <code>a * [b](c) &lt; d</code>, <em>e</em>, <strong>s</strong>.</p>\n");
  EXPECT_EQ(body_of("```\n- a *b* <c>\n\n```\n"), "<pre>- a *b* &lt;c&gt;\n\n</pre>\n");
}

TEST(Markdown, LinksLeadWhereThisServerHasAPage) {
  EXPECT_EQ(body_of("[Down](EpicsIocDown.md#meaning), [`log`](../putlog.md), [web](https://a/b)\n"),
            "<p><a href=\"/runbooks/EpicsIocDown\">Down</a>, <code>log</code>, "
            "<a href=\"https://a/b\">web</a></p>\n");
  EXPECT_EQ(body_of("[a](javascript:x.md), \"[b\" (c) * `\n"),
            "<p><a href=\"/runbooks/javascript:x\">a</a>, &quot;[b&quot; (c) * `</p>\n");
}

}  // namespace
}  // namespace ioc_exporter::web
