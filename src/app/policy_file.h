// The site's policy from its configuration file.
#pragma once

#include <optional>
#include <string>

#include "app/config.h"
#include "base/result.h"
#include "policy/policy.h"

namespace ioc_exporter::app {

// Reader of the section `policy` into `policy`, which stays empty when there is none.
SectionReader policy_section(std::optional<policy::PolicyText>& policy);

// The whole file is checked. Nothing: it has no policy.
Result<std::optional<policy::PolicyText>> read_policy_file(const std::string& path);
// The same from a text; `name` stands for the file in errors.
Result<std::optional<policy::PolicyText>> read_policy_text(const std::string& text,
                                                           const std::string& name);

}  // namespace ioc_exporter::app
