// WhoWrote as JSON and back.
#include "base/json_reader.h"
#include "exposition/json_text.h"
#include "puts/totals/put_families.h"
#include "puts/who_wrote.h"

namespace ioc_exporter::ca {
namespace {

using exposition::append_json_list;
using exposition::JsonObject;

void append_put(std::string& out, const Writer& put) {
  JsonObject object(out);
  object.any_text("ioc", put.ioc);
  object.any_text("pv", put.pv);
  object.any_text("client", put.client);
  object.any_text("user", put.user);
  object.any_text("client_host", put.host);
  object.any_text("operation", op_name(put.op, put.by_pva));
  object.number("count", put.count);
  object.number("last_time_seconds", put.last_time_seconds);
  object.text("exporter", put.exporter);
}

// It stands in JSON as it is.
bool is_source(const std::string& name) {
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
}

Writer put_from(const Json& json) {
  Writer put;
  put.ioc = json.at("ioc").text();
  put.pv = json.at("pv").text();
  put.client = json.at("client").text();
  put.user = json.at("user").text();
  put.host = json.at("client_host").text();
  const std::string& operation = json.at("operation").text();
  put.by_pva = operation == kPvaPutOp || operation == kPvaCallOp;
  put.op =
      operation == op_name(PutOp::write_notify, put.by_pva) ? PutOp::write_notify : PutOp::write;
  put.count = json.at("count").count();
  put.last_time_seconds = json.at("last_time_seconds").number();
  return put;
}

}  // namespace

std::string to_json(const WhoWrote& answer, const SiteAnswers* site) {
  std::string out;
  {
    JsonObject object(out);
    object.any_text("pv", answer.pv);
    append_json_list(object.key("records"), answer.records, [&out](const AskedRecord& pv) {
      JsonObject record(out);
      record.any_text("ioc", pv.ioc);
      record.any_text("record", pv.record);
      record.any_text("field", pv.field);
      if (!pv.writes) return;
      JsonObject writes(record.key("writes"));
      for (const auto& [source, count] : *pv.writes) writes.number(source, count);
    });
    append_json_list(object.key("puts"), answer.puts,
                     [&out](const Writer& put) { append_put(out, put); });
    object.number("unnamed_puts", answer.unnamed_puts);
    object.number("counting_since_seconds", answer.counting_since_seconds);
    object.any_text("problem", answer.problem);
    if (site != nullptr)
      append_json_list(object.key("unanswered"), site->unanswered, [&out](const auto& one) {
        JsonObject exporter(out);
        exporter.any_text("exporter", one.exporter);
        exporter.any_text("error", one.why);
      });
  }
  return out + "\n";
}

Result<WhoWrote> who_wrote_from_json(std::string_view text) {
  return read_json(text, [](const Json& json) {
    WhoWrote answer;
    answer.pv = json.at("pv").text();
    for (const Json& record : json.at("records").items()) {
      AskedRecord& asked = answer.records.emplace_back(
          AskedRecord{{record.at("ioc").text(), answer.pv, record.at("record").text(),
                       record.at("field").text()}});
      const Json* const writes = record.find("writes");
      if (writes == nullptr) continue;
      asked.writes.emplace();
      if (const auto* const sources = writes->get_if<Json::Object>())
        for (const auto& [source, count] : *sources) {
          if (!is_source(source)) throw Json::Unlike("writes are by no source: " + source);
          asked.writes->emplace(source, count.count());
        }
    }
    for (const Json& put : json.at("puts").items()) answer.puts.push_back(put_from(put));
    answer.unnamed_puts = json.at("unnamed_puts").count();
    answer.counting_since_seconds = json.at("counting_since_seconds").number();
    answer.problem = json.at("problem").text();
    return answer;
  });
}

}  // namespace ioc_exporter::ca
