// ioc_exporter policy test|learn: tries a policy out, and proposes one.
#pragma once

#include "base/command_line.h"

namespace ioc_exporter::app {

// `arguments` are those after "policy". Statuses: 0 done, or the put is allowed or expected; 1 a
// file or the exporter does not give what it should; 2 wrong usage; 3 the put is unexpected or
// forbidden.
CommandResult policy_command(int count, const char* const* arguments);

// Arguments are those after "learn".
CommandResult policy_learn_command(int count, const char* const* arguments);

}  // namespace ioc_exporter::app
