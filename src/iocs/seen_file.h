// SeenFile: what SeenIocs knows, in a folder, from one run of the exporter to the next.
//
// The exporter may open no file for writing once it runs (docs/security.md). So two files are
// opened at its start, which are written in turn, each with its generation and a sum at its end:
// whenever the exporter or the host ends, one of them is whole.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "iocs/seen_iocs.h"

namespace ioc_exporter::iocs {

struct SeenText {
  std::uint64_t generation = 0;
  SeenByName iocs;
};
std::string to_text(const SeenText& seen);
// The error says what is wrong, and in which line.
Result<SeenText> seen_from_text(std::string_view text);

class SeenFile {
 public:
  static constexpr std::array<const char*, 2> kNames = {"seen-iocs.1", "seen-iocs.2"};

  // Makes the last folder of the path and the files where they are missing. One process has it at a
  // time: device_or_resource_busy when another one does. The folder must be its owner's only to
  // write to.
  static Result<SeenFile> open(const std::string& folder);
  // The later of the two, without opening them for writing. None: nothing was written yet, or
  // neither is whole. `problem`: what is wrong with one of them, "" = nothing.
  static SeenText read(const std::string& folder, std::string& problem);

  const std::string& folder() const { return folder_; }
  SeenText read(std::string& problem) const { return read(folder_, problem); }
  // In any one thread. Of these generations the latest is the one to be read.
  Result<void> write(const SeenText& seen);

 private:
  std::string folder_;
  std::array<UniqueFd, kNames.size()> files_;
};

// Its owner's only to write to: nobody else can put a file in another's place. Also for files.
Result<void> check_owned(int fd, const std::string& path);

}  // namespace ioc_exporter::iocs
