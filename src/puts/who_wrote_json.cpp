// WhoWrote as JSON.
#include "base/time_text.h"
#include "exposition/json_text.h"
#include "puts/totals/put_families.h"
#include "puts/who_wrote.h"

namespace ioc_exporter::puts {
namespace {

using exposition::append_json_list;
using exposition::JsonObject;

void append_put(std::string& out, const PutSample& put) {
  JsonObject object(out);
  object.any_text("ioc", put.ioc);
  object.any_text("pv", put.pv);
  object.any_text("client", put.client);
  object.any_text("user", put.user);
  object.any_text("client_host", put.host);
  object.any_text("op", op_name(put.op, put.by_pva));
  object.number("puts", put.count);
  object.text("time", time_text(put.last_time_seconds));
}

}  // namespace

std::string to_json(const WhoWrote& answer) {
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
                     [&out](const PutSample& put) { append_put(out, put); });
    object.number("unnamed_puts", answer.unnamed_puts);
    object.text("counting_since", time_text(answer.counting_since_seconds));
    object.any_text("put_log_file", answer.put_log_file);
    object.any_text("problem", answer.problem);
  }
  return out + "\n";
}

}  // namespace ioc_exporter::puts
