// ProbeRow: what a room wants to be probed in one IOC: a program, a function of a file.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "elf/code_file.h"
#include "elf/function_ends.h"
#include "iocs/ioc_id.h"
#include "shared/attach.h"

namespace ioc_exporter::probes {

using CodeFilePtr = std::shared_ptr<const elf::CodeFile>;
using EndingPtr = std::shared_ptr<const elf::EndingFunction>;

struct ProbeRow {
  iocs::IocId ioc;
  std::uint32_t program = 0;  // number in the room's Attacher
  CodeFilePtr file;
  std::string path, name;    // of the file and of the function, for messages
  std::uint64_t offset = 0;  // of the function's first byte, in the file
  EndingPtr ending = {};     // null: only its entry is probed
  // Number for its ends, where these have others than the entry.
  std::optional<std::uint32_t> ends_program = {};
  // A pointer of that IOC leads there: no attachment for all processes.
  bool only_in_process = false;
  bool is_optional = false;  // the IOC's other rows count without it
  // The IOC is not to be hit by what only others want: it is to have no part in an attachment for
  // all.
  bool apart = false;
  std::string off = {};  // "off: ", and why it is not to be there now; "" = it is

  bool operator==(const ProbeRow&) const = default;
};

// A function of a file. Files are numbered: names and mounts of one inode have one number.
struct Place {
  std::uint64_t file = 0;
  std::uint64_t offset = 0;
  auto operator<=>(const Place&) const = default;
};

// What is counted or not as one: an IOC, or one place in it.
struct Member {
  iocs::IocId ioc;
  std::optional<Place> place = {};  // nothing: all of the IOC's rows
  auto operator<=>(const Member&) const = default;
};

// How a room's programs are attached.
struct Policy {
  // The IOC's rows count together or not at all, and by one kind of attachment.
  bool whole_iocs = false;
  // Attachments for one process each, until more than `most_apart` IOCs need them; they come back
  // at `fewest_together`.
  std::size_t most_apart = 0, fewest_together = 0;
  // An attachment for all cannot leave out an IOC whose probes are to be off: so many others may
  // have their own.
  std::size_t most_beside_off = 16;
  // Where there can be none for all: the kernel passes each of them at each hit.
  std::size_t most_in_processes = 16;
};

}  // namespace ioc_exporter::probes
