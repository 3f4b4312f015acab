#include "putlog/loki_sink.h"

#include <map>
#include <utility>

#include "delivery/receiver.h"
#include "exposition/json_text.h"
#include "putlog/json.h"

namespace ioc_exporter::putlog {
namespace {

constexpr std::size_t kLargestPush = 512u << 10;

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

delivery::Delivered LokiSink::deliver(std::span<const Entry> entries) {
  LokiPush push = loki_push(entries, metadata_);
  HttpPost post = receiver_.post("/loki/api/v1/push", "application/json");
  post.body = std::move(push.body);
  return delivery::push({std::move(post), push.entries, "push to " + receiver_.url});
}

}  // namespace ioc_exporter::putlog
