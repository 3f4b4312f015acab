#include "web/page.h"

#include <array>
#include <cstdio>
#include <string_view>

#include "web/html.h"

namespace ioc_exporter::web {
namespace {

template <class Number>
std::string number_cell(const std::optional<Number>& number) {
  return element("td", "number", number ? std::to_string(*number) : "–");
}

// Three figures are as many as one reads: "0.25", "17.3", "4210".
std::string rate_cell(const std::optional<double>& rate) {
  if (!rate) return element("td", "number", "–");
  std::array<char, 32> text{};
  const int digits = *rate >= 100 || *rate == 0 ? 0 : *rate >= 10 ? 1 : 2;
  std::snprintf(text.data(), text.size(), "%.*f", digits, *rate);
  return element("td", "number", text.data());
}

std::string percent_cell(const std::optional<double>& share) {
  if (!share) return element("td", "number", "–");
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f %%", *share * 100);
  return element("td", "number", text.data());
}

std::string facts_section(const std::vector<exposition::StatusFact>& facts) {
  std::string html;
  for (const exposition::StatusFact& fact : facts)
    html += element("div", fact.bad ? "fact bad" : "fact",
                    element("strong", "", escaped(fact.value)) +
                        element("span", "dim", escaped(fact.what))) +
            "\n";
  return html.empty() ? "" : joined({"<div class=\"facts\">\n", html, "</div>\n"});
}

std::string ioc_row(const exposition::StatusIoc& ioc) {
  const std::optional<std::int32_t> pid = ioc.up ? std::optional(ioc.pid) : std::nullopt;
  std::string row = element("td", "", escaped(ioc.name));
  row += element("td", ioc.up ? "good" : "bad", ioc.up ? "up" : "gone");
  row += number_cell(pid);
  row += element("td", "", ioc.base_version.empty() ? "–" : escaped(ioc.base_version));
  row += number_cell(ioc.ca_port);
  row += number_cell(ioc.records);
  row += number_cell(ioc.circuits);
  row += number_cell(ioc.channels);
  row += rate_cell(ioc.processed_rate);
  row += rate_cell(ioc.put_rate);
  row += percent_cell(ioc.cost);
  row += element("td", ioc.problem.empty() ? "" : "bad", escaped(ioc.problem));
  std::string notes;
  for (const std::string& note : ioc.notes) notes += element("p", "dim", escaped(note));
  if (!notes.empty()) notes = joined({"<tr><td></td><td colspan=\"11\">", notes, "</td></tr>\n"});
  return element("tr", "", row) + "\n" + notes;
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

std::string iocs_section(const std::vector<exposition::StatusIoc>& iocs) {
  std::string html = "<h2>IOCs</h2>\n";
  if (iocs.empty()) return html + "<p>No IOC was found on this host so far.</p>\n";
  html +=
      "<div class=\"wide\"><table>\n<thead><tr><th>IOC</th><th>state</th>"
      "<th class=\"number\">pid</th><th>EPICS Base</th><th class=\"number\">CA port</th>"
      "<th class=\"number\">records</th><th class=\"number\">circuits</th>"
      "<th class=\"number\">channels</th><th class=\"number\">processed/s</th>"
      "<th class=\"number\">puts/s</th><th class=\"number\">probes' cost</th>"
      "<th>problem</th></tr></thead>\n<tbody>\n";
  for (const exposition::StatusIoc& ioc : iocs) html += ioc_row(ioc);
  return html + "</tbody>\n</table></div>\n";
}

std::string probes_section(const std::vector<exposition::StatusProbe>& probes) {
  if (probes.empty()) return {};
  std::string html =
      "<h2>Probes</h2>\n<div class=\"wide\"><table>\n"
      "<thead><tr><th>probe</th><th>state</th></tr></thead>\n<tbody>\n";
  for (const exposition::StatusProbe& probe : probes)
    html += element("tr", "",
                    element("td", "", escaped(probe.name)) +
                        element("td", probe.ok ? "good" : "bad", escaped(probe.state))) +
            "\n";
  return html + "</tbody>\n</table></div>\n";
}

std::string notes_section(const std::vector<std::string>& notes) {
  if (notes.empty()) return {};
  std::string html = "<h2>Notes</h2>\n<ul>\n";
  for (const std::string& note : notes) html += element("li", "", escaped(note)) + "\n";
  return html + "</ul>\n";
}

}  // namespace

std::string render_landing_page(const exposition::StatusPage& page) {
  std::string html = page_head(page.name);
  html += element("p", "dim", joined({"version ", escaped(page.version)})) + "\n";
  if (!page.description.empty()) html += element("p", "", escaped(page.description)) + "\n";
  html += facts_section(page.facts);
  html += links_section(page.links);
  html += iocs_section(page.iocs);
  for (const exposition::StatusTable& table : page.tables) html += table_section(table);
  html += probes_section(page.probes);
  html += notes_section(page.notes);
  return html + "</body>\n</html>\n";
}

}  // namespace ioc_exporter::web
