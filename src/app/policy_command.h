// ioc_exporter policy test and policy learn: try a policy out, and propose one.
#pragma once

#include "base/command_line.h"

namespace ioc_exporter::app {

Command policy_test_command();
Command policy_learn_command();

}  // namespace ioc_exporter::app
