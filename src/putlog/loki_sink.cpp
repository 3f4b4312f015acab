#include "putlog/loki_sink.h"

#include <map>
#include <utility>

#include "base/utf8.h"
#include "exposition/json_text.h"
#include "putlog/json.h"

namespace ioc_exporter::putlog {
namespace {

constexpr std::size_t kLargestPush = 512u << 10;
constexpr std::chrono::seconds kPatience{5};

void append_metadata(std::string& out, const PutEvent& event) {
  out += ",{";
  bool first = true;
  for (const auto& [name, text] :
       {std::pair{"pv", &event.pv}, {"user", &event.user}, {"client", &event.client}}) {
    if (text->empty()) continue;
    if (!std::exchange(first, false)) out += ',';
    out.append("\"").append(name).append("\":");
    exposition::append_json_text(out, *text);
  }
  out += '}';
}

// What another try does not help.
bool is_refused_for_good(int status) {
  return status >= 400 && status < 500 && status != 401 && status != 403 && status != 408 &&
         status != 429;
}

}  // namespace

LokiPush loki_push(std::span<const Entry> entries, bool metadata) {
  LokiPush push;
  std::map<std::string_view, std::string> streams;
  std::size_t size = 0;
  for (const Entry& entry : entries) {
    if (size >= kLargestPush) break;
    const PutEvent& event = *entry.event;
    std::string& values = streams[event.ioc];
    const std::size_t before = values.size();
    values += values.empty() ? "[\"" : ",[\"";
    values += std::to_string(event.time.time_since_epoch().count()) + "\",";
    std::string line;
    append_json(line, entry);
    exposition::append_json_text(values, line);
    if (metadata) append_metadata(values, event);
    values += ']';
    size += values.size() - before;
    ++push.entries;
  }
  push.body = "{\"streams\":[";
  bool first = true;
  for (const auto& [ioc, values] : streams) {
    push.body += std::exchange(first, false) ? "" : ",";
    push.body += "{\"stream\":{\"job\":\"ioc_exporter\"";
    if (!ioc.empty()) exposition::append_json_text(push.body.append(",\"ioc\":"), ioc);
    push.body.append("},\"values\":[").append(values).append("]}");
  }
  push.body += "]}";
  return push;
}

Sink::Delivered LokiSink::deliver(std::span<const Entry> entries) {
  Delivered done;
  if (entries.empty()) return done;
  const LokiPush push = loki_push(entries, options_.metadata);
  HttpPost post{options_.url + "/loki/api/v1/push", "application/json", push.body, {}, {}};
  post.as.login = options_.login;
  if (!options_.tenant.empty()) post.headers["X-Scope-OrgID"] = options_.tenant;
  const auto answer = send_post(post, kPatience);
  if (!answer) {
    done.problem = answer.error();
    return done;
  }
  if (answer->status / 100 == 2) {
    done.entries = push.entries;
    return done;
  }
  const std::string said = printable_utf8(answer->body, 200);
  done.problem = error_in_words("push to " + options_.url + ": status " +
                                std::to_string(answer->status) + (said.empty() ? "" : ": ") + said);
  if (is_refused_for_good(answer->status)) done.refused = push.entries;
  return done;
}

}  // namespace ioc_exporter::putlog
