#include "web/page.h"

#include <algorithm>
#include <cstdio>

#include "web/html.h"

namespace ioc_exporter::web {
namespace {

// Deeper frames are not drawn: browsers limit nesting.
constexpr std::size_t kDeepest = 200;

constexpr std::string_view kStyle = R"css(<style>
.flame { margin: 1rem 0; font-size: .8rem; line-height: 1.4; }
.flame div { min-width: 0; overflow: hidden; }
.flame .row { display: flex; }
.flame .box { background: #f0a04b; color: #1d2329; border: 1px solid var(--back);
  border-radius: .2rem; padding: 0 .25rem; white-space: nowrap; text-overflow: ellipsis; }
.flame .odd { background: #e9c46a; }
.flame .box a { color: inherit; text-decoration: none; }
</style>
)css";

void append(std::string& html, const FlameFrame& frame, double share, std::size_t depth) {
  char width[32];
  std::snprintf(width, sizeof width, "%.4f", 100 * std::clamp(share, 0.0, 1.0));
  const std::string name = escaped(frame.name);
  html += joined({"<div style=\"width:", width, "%\"><div class=\"",
                  depth % 2 == 0 ? "box" : "box odd", "\" title=\"", escaped(frame.title), "\">"});
  if (frame.link.empty())
    html += name;
  else
    html += joined({"<a href=\"", escaped(frame.link), "\">", name, "</a>"});
  html += "</div>";
  if (!frame.below.empty() && depth < kDeepest) {
    html += "<div class=\"row\">";
    for (const FlameFrame& one : frame.below)
      append(html, one, frame.part > 0 ? one.part / frame.part : 0, depth + 1);
    html += "</div>";
  }
  html += "</div>\n";
}

}  // namespace

std::string render_flame_page(const FlamePage& page) {
  std::string html = page_head("Where the time of records goes");
  html += kStyle;
  html += form_section("/flame", form_field("record", "record", page.record, "24") +
                                     form_field("IOC", "ioc", page.ioc, "24"));
  html +=
      element("p", "dim",
              "Own time of records, below the records that processed them, over the traces in "
              "memory with such a record. Fields are regular expressions for the whole name. The "
              "same as a file: ioc_exporter trace --flame=FILE.") +
      "\n";
  if (!page.problem.empty()) html += element("p", "bad", escaped(page.problem)) + "\n";
  html += element("p", "", std::to_string(page.traces) + " traces") + "\n";
  if (page.all.part > 0) {
    html += "<div class=\"flame\">";
    append(html, page.all, 1, 0);
    html += "</div>\n";
  }
  return html + "</body>\n</html>\n";
}

}  // namespace ioc_exporter::web
