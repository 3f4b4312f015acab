#include "web/page.h"

#include "web/html.h"

namespace ioc_exporter::web {
namespace {

// Texts go in as text nodes only. What comes in a quarter of a second is shown together, and no
// more rows than one looks at.
constexpr std::string_view kScript = R"js("use strict";
(() => {
  const most = 500, columns = ["time", "action", "ioc", "pv", "old", "value", "user", "client", "status"];
  const names = [...document.querySelectorAll("th")].map((one) => one.textContent);
  const body = document.getElementById("puts"), state = document.getElementById("state");
  const pause = document.getElementById("pause");
  const query = new URLSearchParams(location.search), since = query.get("since");
  let coming = [], last = 0, lastTime = "", paused = false;

  const shown = (value) => {
    if (value === undefined) return "";
    if (!Array.isArray(value)) return String(value);
    return "[" + value.slice(0, 8).map(String).join(", ") + (value.length > 8 ? ", …]" : "]");
  };
  const text = (put, column) => {
    if (column === "time") {
      const time = new Date(put.time.slice(0, 23) + "Z");
      return (since ? time.toLocaleDateString() + " " : "") + time.toLocaleTimeString([], { hour12: false }) + put.time.slice(19, 23);
    }
    if (column === "user") return put.client_host ? (put.user || "") + "@" + put.client_host : put.user || "";
    if (column === "status" && put.seconds !== undefined) return (put.status || "") + " " + put.seconds.toPrecision(3) + " s";
    if (column === "action") return put.rule ? (put.action || "") + ": " + put.rule : put.action || "";
    return shown(put[column]);
  };
  const row = (put) => {
    const line = document.createElement("tr");
    const bad = ["unexpected", "forbidden", "unjudged"].includes(put.action) || (put.status && put.status !== "ok");
    for (const [place, column] of columns.entries()) {
      const cell = document.createElement("td");
      cell.dataset.name = names[place];
      cell.textContent = text(put, column);
      if (bad) cell.className = "bad";
      line.append(cell);
    }
    line.title = put.time + ", number " + put.seq;
    return line;
  };
  const take = (put) => {
    if (put.seq <= last && put.time <= lastTime) return; // seen; numbers begin anew with the exporter
    last = put.seq;
    lastTime = put.time;
    coming.push(put);
    if (coming.length > most) coming.shift();
  };
  const show = () => {
    if (paused || coming.length === 0) return;
    for (const put of coming) body.prepend(row(put));
    coming = [];
    while (body.rows.length > most) body.deleteRow(-1);
  };
  const say = (words, good) => {
    state.textContent = words;
    state.className = good ? "good" : "bad";
  };

  const showSince = async () => {
    query.set("limit", most);
    const answer = await fetch("/api/v1/puts?" + query), lines = (await answer.text()).split("\n").filter(Boolean);
    if (!answer.ok) return say(lines.join(" "), false);
    const read = lines.map((line) => JSON.parse(line));
    const puts = read.filter((put) => put.time !== undefined), reach = read.find((put) => put.reaches_back_to !== undefined);
    body.replaceChildren(...puts.map(row).reverse());
    const since = reach ? new Date(reach.reaches_back_to).toLocaleString() + "; older ones are in no memory" : "then";
    say(puts.length < most ? puts.length + " puts since " + since : "the last " + most + " puts", !reach);
  };
  if (since) {
    say("looking", true);
    showSince().catch((problem) => say(String(problem), false));
    return;
  }

  const earlier = [...body.querySelectorAll("code")].map((one) => JSON.parse(one.textContent)).reverse();
  body.replaceChildren();
  earlier.forEach(take);
  show();
  setInterval(show, 250);
  pause.hidden = false;
  pause.onclick = () => {
    paused = !paused;
    pause.textContent = paused ? "Go on" : "Pause";
  };
  query.set("follow", "1");
  query.set("since", "1m");
  const source = new EventSource("/api/v1/puts?" + query);
  source.onopen = () => say("live", true);
  source.onerror = () => say("not connected, trying again", false);
  source.onmessage = (event) => take(JSON.parse(event.data));
  source.addEventListener("lost", () => say("more came than could be shown: give a filter", false));
})();
)js";

std::string form(const PutsPage& page) {
  return form_section("/puts",
                      joined({form_field("PV", "pv", page.pv, "20"),
                              form_field("client", "client", page.client, "20"),
                              form_field("user", "user", page.user, "20"),
                              form_field("since", "since", page.since, "8"),
                              "<label><input type=\"checkbox\" name=\"unexpected\" value=\"1\"",
                              page.unexpected ? " checked" : "", "> unexpected only</label>\n",
                              "<label><input type=\"checkbox\" name=\"inside\" value=\"1\"",
                              page.inside ? " checked" : "", "> also inside the IOCs</label>\n"}));
}

}  // namespace

std::string render_puts_page(const PutsPage& page) {
  std::string html = page_head("Puts", page.origin);
  html += form(page);
  html += element("p", "dim",
                  "Fields are regular expressions for the whole name, or !EXPRESSION for all "
                  "others, but for since: 7d, today, a "
                  "time; empty for live puts. The same on a terminal: ioc_exporter puts.") +
          "\n";
  if (!page.problem.empty()) html += element("p", "bad", escaped(page.problem)) + "\n";
  html +=
      "<p><span id=\"state\">the newest so far</span> <button id=\"pause\" hidden>Pause</button>"
      "</p>\n<div class=\"wide\"><table>\n<thead><tr><th>time</th><th>policy</th><th>IOC</th>"
      "<th>PV</th><th>old</th><th>new</th><th>user</th><th>client</th><th>result</th></tr>"
      "</thead>\n<tbody id=\"puts\">\n";
  for (const std::string& put : page.puts)
    html += joined({"<tr><td colspan=\"9\"><code>", escaped(put), "</code></td></tr>\n"});
  html += "</tbody>\n</table></div>\n";
  if (page.problem.empty()) html += "<script src=\"/puts.js\"></script>\n";
  return html + "</body>\n</html>\n";
}

std::string_view puts_script() {
  return kScript;
}

}  // namespace ioc_exporter::web
