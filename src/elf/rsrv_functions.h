// Functions of EPICS Base's CA server (rsrv) in a file whose symbols do not name them: they are
// static, and gone after strip.
//
// rsrv calls them by its table of TCP commands (tcpJumpTable in camessage.c), an array of function
// pointers by command. The commands that a server is never sent have one handler in common, the
// others differ: of all pointers to code in the file, one array alone has that shape. What is not
// in the table is found in the code of those that are.
//
// The file is somebody else's: it is read by pread into buffers of fixed size, a bounded number of
// bytes in all.
#pragma once

#include <cstdint>
#include <optional>

namespace ioc_exporter::elf {

// Addresses as in the file's symbol table.
struct RsrvFunctions {
  std::uint64_t write_action = 0;
  std::uint64_t write_notify_action = 0;
  std::optional<std::uint64_t> send_err;                    // answers by an ERROR message
  std::optional<std::uint64_t> write_notify_done_callback;  // since Base 3.15

  bool operator==(const RsrvFunctions&) const = default;
};

// A 64-bit file of this machine's kind. None: no table, or more than one.
std::optional<RsrvFunctions> find_rsrv_functions(int fd);

// Whether one of them begins at this offset of the file.
bool is_rsrv_function(int fd, std::uint64_t offset);

}  // namespace ioc_exporter::elf
