#include "http/landing_page.h"

#include <initializer_list>
#include <string_view>

namespace ioc_exporter::http {
namespace {

constexpr std::string_view kStyle = R"css(
:root { color-scheme: light dark; --text: #1d2329; --dim: #5c6670; --line: #d9dee3; --back: #fff;
  --panel: #f6f8fa; --link: #0b5cad; --good: #18794e; --bad: #b42318; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e3e8ed; --dim: #98a3ae; --line: #363d45; --back: #14181c; --panel: #1c2228;
    --link: #7ab7f5; --good: #5fcf96; --bad: #ff8a7a; } }
body { margin: 0 auto; padding: 2rem 1.25rem; max-width: 68rem; color: var(--text);
  background: var(--back); font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.6rem; } h2 { margin: 2rem 0 .5rem; font-size: 1.1rem; }
p { margin: .25rem 0; } .dim { color: var(--dim); } .good { color: var(--good); }
.bad { color: var(--bad); } a { color: var(--link); }
ul { margin: .5rem 0; padding-left: 1.25rem; }
.wide { overflow-x: auto; } table { width: 100%; border-collapse: collapse; }
table { font-size: .92rem; } .number { white-space: nowrap; } td.bad { min-width: 4rem; }
th, td { padding: .35rem .6rem; text-align: left; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { background: var(--panel); font-weight: 600; white-space: nowrap; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
)css";

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        // HTML allows no other control characters than these, and NUL not even as a reference.
        out +=
            (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n') || c == 0x7f ? '?' : c;
    }
  }
  return out;
}

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string all;
  for (const std::string_view part : parts) all += part;
  return all;
}

std::string element(std::string_view tag, std::string_view css_class, std::string_view content) {
  if (css_class.empty()) return joined({"<", tag, ">", content, "</", tag, ">"});
  return joined({"<", tag, " class=\"", css_class, "\">", content, "</", tag, ">"});
}

template <class Number>
std::string number_cell(const std::optional<Number>& number) {
  return element("td", "number", number ? std::to_string(*number) : "–");
}

std::string ioc_row(const LandingIoc& ioc) {
  const std::optional<std::int32_t> pid = ioc.up ? std::optional(ioc.pid) : std::nullopt;
  std::string row = element("td", "", escaped(ioc.name));
  row += element("td", ioc.up ? "good" : "bad", ioc.up ? "up" : "gone");
  row += number_cell(pid);
  row += element("td", "", ioc.base_version.empty() ? "–" : escaped(ioc.base_version));
  row += number_cell(ioc.ca_port);
  row += number_cell(ioc.records);
  row += number_cell(ioc.circuits);
  row += number_cell(ioc.channels);
  row += element("td", ioc.problem.empty() ? "" : "bad", escaped(ioc.problem));
  std::string notes;
  for (const std::string& note : ioc.notes) notes += element("p", "dim", escaped(note));
  if (!notes.empty()) notes = joined({"<tr><td></td><td colspan=\"8\">", notes, "</td></tr>\n"});
  return element("tr", "", row) + "\n" + notes;
}

std::string links_section(const std::vector<LandingLink>& links) {
  std::string items;
  for (const LandingLink& link : links) {
    std::string item =
        joined({"<a href=\"", escaped(link.path), "\">", escaped(link.text), "</a>"});
    if (!link.description.empty())
      item += joined({" ", element("span", "dim", escaped(link.description))});
    items += element("li", "", item) + "\n";
  }
  return items.empty() ? "" : joined({"<ul>\n", items, "</ul>\n"});
}

std::string iocs_section(const std::vector<LandingIoc>& iocs) {
  std::string html = "<h2>IOCs</h2>\n";
  if (iocs.empty()) return html + "<p>No IOC was found on this host so far.</p>\n";
  html +=
      "<div class=\"wide\"><table>\n<thead><tr><th>IOC</th><th>state</th>"
      "<th class=\"number\">pid</th><th>EPICS Base</th><th class=\"number\">CA port</th>"
      "<th class=\"number\">records</th><th class=\"number\">circuits</th>"
      "<th class=\"number\">channels</th><th>problem</th></tr></thead>\n<tbody>\n";
  for (const LandingIoc& ioc : iocs) html += ioc_row(ioc);
  return html + "</tbody>\n</table></div>\n";
}

std::string table_section(const LandingTable& table) {
  if (table.rows.empty()) return {};
  const auto css_class = [&table](std::size_t i) {
    return i < table.columns.size() && table.columns[i].number ? "number" : "";
  };
  std::string html = element("h2", "", escaped(table.title)) + "\n";
  if (!table.note.empty()) html += element("p", "dim", escaped(table.note)) + "\n";
  html += "<div class=\"wide\"><table>\n<thead><tr>";
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    html += element("th", css_class(i), escaped(table.columns[i].title));
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    std::string cells;
    for (std::size_t i = 0; i < row.size(); ++i)
      cells += element("td", css_class(i), row[i].empty() ? "–" : escaped(row[i]));
    html += element("tr", "", cells) + "\n";
  }
  html += "</tbody>\n</table></div>\n";
  return table.rest.empty() ? html : html + element("p", "dim", escaped(table.rest)) + "\n";
}

std::string probes_section(const std::vector<LandingProbe>& probes) {
  if (probes.empty()) return {};
  std::string html =
      "<h2>Probes</h2>\n<div class=\"wide\"><table>\n"
      "<thead><tr><th>probe</th><th>state</th></tr></thead>\n<tbody>\n";
  for (const LandingProbe& probe : probes)
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

std::string render_landing_page(const LandingPage& page) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  html += element("title", "", escaped(page.name)) + "\n<style>";
  html += kStyle;
  html += "</style>\n</head>\n<body>\n";
  html += element("h1", "", escaped(page.name)) + "\n";
  html += element("p", "dim", joined({"version ", escaped(page.version)})) + "\n";
  if (!page.description.empty()) html += element("p", "", escaped(page.description)) + "\n";
  html += links_section(page.links);
  html += iocs_section(page.iocs);
  for (const LandingTable& table : page.tables) html += table_section(table);
  html += probes_section(page.probes);
  html += notes_section(page.notes);
  return html + "</body>\n</html>\n";
}

}  // namespace ioc_exporter::http
