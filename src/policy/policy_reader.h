// The section `policy` of the configuration file. docs/policy.md is its reference.
#pragma once

#include "policy/policy.h"

namespace ioc_exporter {
class Reader;
}

namespace ioc_exporter::policy {

// Errors go to the reader's problems; then the result must not be used.
PolicyText read_policy(Reader& section);

}  // namespace ioc_exporter::policy
