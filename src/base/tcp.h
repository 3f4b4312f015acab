// TCP connections that are made here, each with a deadline for the whole.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace ioc_exporter {

using TcpDeadline = std::chrono::steady_clock::time_point;

// To the first of the host's addresses that answers; the socket does not block. Looking up a name
// has the resolver's own limits. Errors name host and port.
Result<UniqueFd> connect_tcp(const std::string& host, const std::string& port,
                             TcpDeadline deadline);

// Waits until the socket is ready for `events` (poll(2)), or says why it will not be.
Result<void> wait_for(int fd, short events, TcpDeadline deadline, const std::string& what);

}  // namespace ioc_exporter
