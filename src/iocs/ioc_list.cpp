#include "iocs/ioc_list.h"

#include <nlohmann/json.hpp>

#include "exposition/label_text.h"

namespace ioc_exporter::iocs {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string to_json(const IocList& list) {
  Json iocs = Json::array();
  for (const ListedIoc& ioc : list)
    iocs.push_back({{"ioc", exposition::utf8_safe(ioc.name)},
                    {"user", exposition::utf8_safe(ioc.user)},
                    {"up", ioc.up},
                    {"start_time_seconds", ioc.start_time_seconds},
                    {"contested_with", exposition::utf8_safe(ioc.contested_with)},
                    {"expected", ioc.expected}});
  return Json{{"iocs", std::move(iocs)}}.dump(-1, ' ', true) + "\n";
}

Result<IocList> ioc_list_from_json(std::string_view text) {
  try {
    IocList list;
    const Json json = Json::parse(text);
    for (const Json& ioc : json.at("iocs"))
      list.push_back({ioc.at("ioc").get<std::string>(), ioc.at("user").get<std::string>(),
                      ioc.at("up").get<bool>(), ioc.at("start_time_seconds").get<double>(),
                      ioc.at("contested_with").get<std::string>(), ioc.at("expected").get<bool>()});
    return list;
  } catch (const Json::exception& problem) {  // the library's way to tell
    return error_in_words(problem.what());
  }
}

}  // namespace ioc_exporter::iocs
