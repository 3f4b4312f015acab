// WhoWrote as JSON and back.
#include <nlohmann/json.hpp>

#include "exposition/label_text.h"
#include "puts/totals/put_families.h"
#include "puts/who_wrote.h"

namespace ioc_exporter::ca {
namespace {

using Json = nlohmann::ordered_json;

Json put_json(const Writer& put) {
  Json json = {{"ioc", exposition::utf8_safe(put.ioc)},
               {"pv", exposition::utf8_safe(put.pv)},
               {"client", exposition::utf8_safe(put.client)},
               {"user", exposition::utf8_safe(put.user)},
               {"client_host", exposition::utf8_safe(put.host)},
               {"operation", op_name(put.op, put.by_pva)},
               {"count", put.count},
               {"last_time_seconds", put.last_time_seconds}};
  if (!put.exporter.empty()) json["exporter"] = put.exporter;
  return json;
}

Writer put_from(const Json& json) {
  Writer put;
  json.at("ioc").get_to(put.ioc);
  json.at("pv").get_to(put.pv);
  json.at("client").get_to(put.client);
  json.at("user").get_to(put.user);
  json.at("client_host").get_to(put.host);
  const auto operation = json.at("operation").get<std::string>();
  put.by_pva = operation == kPvaPutOp || operation == kPvaCallOp;
  put.op =
      operation == op_name(PutOp::write_notify, put.by_pva) ? PutOp::write_notify : PutOp::write;
  json.at("count").get_to(put.count);
  json.at("last_time_seconds").get_to(put.last_time_seconds);
  return put;
}

}  // namespace

std::string to_json(const WhoWrote& answer, const SiteAnswers* site) {
  Json records = Json::array();
  for (const PvSample& pv : answer.records)
    records.push_back({{"ioc", exposition::utf8_safe(pv.ioc)},
                       {"record", exposition::utf8_safe(pv.record)},
                       {"field", exposition::utf8_safe(pv.field)}});
  Json puts = Json::array();
  for (const Writer& put : answer.puts) puts.push_back(put_json(put));
  Json json = {{"pv", exposition::utf8_safe(answer.pv)},
               {"records", std::move(records)},
               {"puts", std::move(puts)},
               {"unnamed_puts", answer.unnamed_puts},
               {"counting_since_seconds", answer.counting_since_seconds},
               {"problem", answer.problem}};
  if (site != nullptr) {
    Json& unanswered = json["unanswered"] = Json::array();
    for (const auto& [exporter, why] : site->unanswered)
      unanswered.push_back({{"exporter", exporter}, {"error", why}});
  }
  return json.dump(-1, ' ', true) + "\n";  // ASCII only: safe on any terminal
}

Result<WhoWrote> who_wrote_from_json(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    WhoWrote answer;
    json.at("pv").get_to(answer.pv);
    for (const Json& record : json.at("records"))
      answer.records.push_back({record.at("ioc").get<std::string>(), answer.pv,
                                record.at("record").get<std::string>(),
                                record.at("field").get<std::string>()});
    for (const Json& put : json.at("puts")) answer.puts.push_back(put_from(put));
    json.at("unnamed_puts").get_to(answer.unnamed_puts);
    json.at("counting_since_seconds").get_to(answer.counting_since_seconds);
    json.at("problem").get_to(answer.problem);
    return answer;
  } catch (const Json::exception& problem) {  // the library's way to tell
    return error_in_words(problem.what());
  }
}

}  // namespace ioc_exporter::ca
