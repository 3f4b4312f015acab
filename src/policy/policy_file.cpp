#include "policy/policy_file.h"

#include <utility>

#include "policy/policy_reader.h"

namespace ioc_exporter::policy {

app::SectionReader policy_section(std::optional<PolicyText>& policy) {
  return [&policy](Reader& section) { policy = read_policy(section); };
}

Result<std::optional<PolicyText>> read_policy_file(const std::string& path) {
  std::optional<PolicyText> policy;
  if (auto valid = app::read_config(path, policy_section(policy)); !valid)
    return std::move(valid).error();
  return policy;
}

Result<std::optional<PolicyText>> read_policy_text(const std::string& text,
                                                           const std::string& name) {
  std::optional<PolicyText> policy;
  if (auto valid = app::parse_config(text, name, policy_section(policy)); !valid)
    return std::move(valid).error();
  return policy;
}

}  // namespace ioc_exporter::policy
