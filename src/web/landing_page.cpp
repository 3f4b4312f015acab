#include "web/page.h"

#include "web/html.h"

namespace ioc_exporter::web {
namespace {

std::string facts_section(const std::vector<exposition::StatusFact>& facts) {
  std::string html;
  for (const exposition::StatusFact& fact : facts)
    html += element("div", fact.bad ? "fact bad" : "fact",
                    element("strong", "", escaped(fact.value)) +
                        element("span", "dim", escaped(fact.what))) +
            "\n";
  return html.empty() ? "" : joined({"<div class=\"facts\">\n", html, "</div>\n"});
}

std::string links_section(const std::vector<exposition::StatusLink>& links) {
  std::string items;
  for (const exposition::StatusLink& link : links) {
    std::string item =
        joined({"<a href=\"", escaped(link.path), "\">", escaped(link.text), "</a>"});
    if (!link.description.empty())
      item += joined({" ", element("span", "dim", escaped(link.description))});
    items += element("li", "", item) + "\n";
  }
  return items.empty() ? "" : joined({"<ul>\n", items, "</ul>\n"});
}

std::string notes_section(const std::vector<std::string>& notes) {
  if (notes.empty()) return {};
  std::string html = "<h2>Notes</h2>\n<ul>\n";
  for (const std::string& note : notes) html += element("li", "", escaped(note)) + "\n";
  return html + "</ul>\n";
}

}  // namespace

std::string render_landing_page(const exposition::StatusPage& page) {
  std::string html = page_head(page.name, exposition::origin_text(page.origin));
  html += element("p", "dim", joined({"version ", escaped(page.version)})) + "\n";
  if (!page.description.empty()) html += element("p", "", escaped(page.description)) + "\n";
  html += facts_section(page.facts);
  html += links_section(page.links);
  if (page.iocs.empty()) html += "<p>No IOC runs on this host.</p>\n";
  for (const exposition::StatusTable& table : exposition::all_tables(page))
    html += table_section(table);
  html += notes_section(exposition::all_notes(page));
  return html + "</body>\n</html>\n";
}

std::string render_kernel_page(const exposition::StatusPage& page) {
  std::string html = page_head("Kernel", exposition::origin_text(page.origin));
  html += kWayBack;
  for (const exposition::StatusTable& table : page.kernel_tables) html += table_section(table);
  return html + "</body>\n</html>\n";
}

}  // namespace ioc_exporter::web
