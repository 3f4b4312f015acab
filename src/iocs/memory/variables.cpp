#include "iocs/memory/variables.h"

namespace ioc_exporter::iocs {

Result<VariablePlace> place_of(const VariablePlaces& variables, const std::string& name) {
  const auto places = variables.find(name);
  if (places == variables.end() || places->second.empty())
    return error_in_words("no symbol " + name + " was found");
  return places->second.front();
}

}  // namespace ioc_exporter::iocs
