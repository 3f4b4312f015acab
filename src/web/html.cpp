#include "web/html.h"

namespace ioc_exporter::web {
namespace {

constexpr std::string_view kStyle = R"css(
:root { color-scheme: light dark; --text: #1d2329; --dim: #5c6670; --line: #d9dee3; --back: #fff;
  --panel: #f6f8fa; --link: #0b5cad; --good: #18794e; --bad: #b42318; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e3e8ed; --dim: #98a3ae; --line: #363d45; --back: #14181c; --panel: #1c2228;
    --link: #7ab7f5; --good: #5fcf96; --bad: #ff8a7a; } }
body { margin: 0 auto; padding: 2rem 1.25rem; max-width: 90rem; color: var(--text);
  background: var(--back); font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.6rem; } h2 { margin: 2rem 0 .5rem; font-size: 1.1rem; }
p, li { max-width: 68rem; overflow-wrap: anywhere; } p { margin: .25rem 0; }
label, h1 .dim { display: inline-block; } .dim { color: var(--dim); } .good { color: var(--good); }
.bad { color: var(--bad); } a { color: var(--link); }
ul { margin: .5rem 0; padding-left: 1.25rem; }
pre, code { white-space: pre-wrap; overflow-wrap: anywhere; }
.wide { overflow-x: auto; } table { width: 100%; border-collapse: collapse; }
table { font-size: .92rem; } .number { white-space: nowrap; } td.bad { min-width: 4rem; }
th, td { padding: .35rem .6rem; text-align: left; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { background: var(--panel); font-weight: 600; white-space: nowrap; }
.facts { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1rem 0; }
.fact { background: var(--panel); border: 1px solid var(--line); border-radius: .5rem;
  padding: .4rem .9rem; min-width: 6rem; }
.fact strong { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
h1 .dim { font-size: 1rem; font-weight: 400; } td:empty::after { content: "–"; }
@media (max-width: 56rem) { thead { display: none; }
  tr { display: block; padding: .5rem 0; border-bottom: 1px solid var(--line); }
  td { display: flex; gap: 1rem; justify-content: space-between; padding: .1rem 0; border: 0;
    overflow-wrap: anywhere; text-align: right; }
  td:empty { display: none; }
  td::before { content: attr(data-name); color: var(--dim); text-align: left; white-space: nowrap; } }
)css";

}  // namespace

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

std::string page_head(std::string_view title, std::string_view origin) {
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  std::string heading = escaped(title);
  html += element("title", "", origin.empty() ? heading : heading + ": " + escaped(origin));
  html += "\n<style>";
  html += kStyle;
  if (!origin.empty()) heading += " " + element("span", "dim", escaped(origin));
  return html + "</style>\n</head>\n<body>\n" + element("h1", "", heading) + "\n";
}

std::string form_field(std::string_view label, std::string_view name, std::string_view value,
                       std::string_view width) {
  return joined({"<label>", label, " <input name=\"", name, "\" size=\"", width, "\" value=\"",
                 escaped(value), "\"></label>\n"});
}

std::string form_section(std::string_view path, std::string_view fields) {
  return joined({kWayBack, "<form action=\"", path, "\" method=\"get\">\n", fields,
                 "<button>Show</button>\n</form>\n"});
}

std::string table_section(const exposition::StatusTable& table) {
  if (table.rows.empty()) return {};
  const auto css_class = [&table](std::size_t i) {
    return table.columns[i].number ? "number" : "";
  };
  std::string html = element("h2", "", escaped(table.title)) + "\n";
  if (!table.note.empty()) html += element("p", "dim", escaped(table.note)) + "\n";
  html += "<div class=\"wide\"><table>\n<thead><tr>";
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    html += element("th", css_class(i), escaped(table.columns[i].title));
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    std::string cells;
    for (std::size_t i = 0; i < row.size() && i < table.columns.size(); ++i)
      cells += joined(
          {"<td class=\"", table.columns[i].problem && !row[i].empty() ? "bad" : css_class(i),
           "\" data-name=\"", escaped(table.columns[i].title), "\">", escaped(row[i]), "</td>"});
    html += element("tr", "", cells) + "\n";
  }
  html += "</tbody>\n</table></div>\n";
  return table.more.empty() ? html : html + element("p", "dim", escaped(table.more)) + "\n";
}

}  // namespace ioc_exporter::web
