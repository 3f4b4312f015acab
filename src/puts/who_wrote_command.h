// ioc_exporter who-wrote PV: asks the exporter that runs.
#pragma once

#include <cstddef>

#include "base/command_line.h"
#include "puts/who_wrote.h"

namespace ioc_exporter::ca {

// Statuses: 0 puts were found, 1 no exporter answered (as it should), 2 wrong usage, 3 nobody
// wrote, 4 some of a site's exporters did not answer. `arguments` are those after "who-wrote".
CommandResult who_wrote_command(int count, const char* const* arguments);

// The answer for people, at most `limit` puts (0: all); `now_seconds`: time of day; `site`: the
// answer is of its exporters, which have a column. Pure.
CommandResult who_wrote_text(const WhoWrote& answer, std::size_t limit, double now_seconds,
                             const SiteAnswers* site = nullptr);

}  // namespace ioc_exporter::ca
