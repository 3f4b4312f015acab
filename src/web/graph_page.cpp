#include "web/graph_page.h"

#include "web/html.h"

namespace ioc_exporter::web {
namespace {

std::string field(std::string_view label, std::string_view name, std::string_view value,
                  std::string_view size) {
  return joined({"<label>", label, " <input name=\"", name, "\" size=\"", size, "\" value=\"",
                 escaped(value), "\"></label>\n"});
}

std::string form(const GraphPage& page) {
  return joined({"<form action=\"/graph\" method=\"get\">\n",
                 field("record", "record", page.record, "32"), field("IOC", "ioc", page.ioc, "16"),
                 field("depth", "depth", page.depth, "3"), "<button>Show</button>\n</form>\n"});
}

}  // namespace

std::string render_graph_page(const GraphPage& page) {
  std::string html = page_head("What a record sets in motion");
  html += "<p><a href=\"/\">ioc_exporter</a></p>\n" + form(page);
  if (!page.heading.empty()) html += element("h2", "", escaped(page.heading)) + "\n";
  for (const std::string& note : page.notes) html += element("p", "dim", escaped(note)) + "\n";
  std::string links;
  for (const exposition::StatusLink& link : page.links)
    links += joined({"<a href=\"", escaped(link.path), "\">", escaped(link.text), "</a> "});
  if (!links.empty()) html += element("p", "", links) + "\n";
  return html + table_section(page.records) + "</body>\n</html>\n";
}

}  // namespace ioc_exporter::web
