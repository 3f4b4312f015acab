#include "app/policy_file.h"

#include <utility>

#include "policy/policy_reader.h"

namespace ioc_exporter::app {

SectionReader policy_section(std::optional<policy::PolicyText>& policy) {
  return [&policy](Reader& section) { policy = policy::read_policy(section); };
}

Result<std::optional<policy::PolicyText>> read_policy_file(const std::string& path) {
  std::optional<policy::PolicyText> policy;
  if (auto valid = read_config(path, policy_section(policy)); !valid)
    return std::move(valid).error();
  return policy;
}

Result<std::optional<policy::PolicyText>> read_policy_text(const std::string& text,
                                                           const std::string& name) {
  std::optional<policy::PolicyText> policy;
  if (auto valid = parse_config(text, name, policy_section(policy)); !valid)
    return std::move(valid).error();
  return policy;
}

}  // namespace ioc_exporter::app
