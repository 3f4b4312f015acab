// libFuzzer target for what is read of an IOC's executables and libraries: the symbols of an ELF
// file, rsrv's functions by its table of commands, and the version of Base. Input: the file.
//
// For any bytes: nothing outside its own memory is touched (sanitizers), no more
// memory than the file's tables may take, and each symbol is one that was asked for, at a place
// that a segment holds.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "elf/elf_symbols.h"
#include "elf/rsrv_functions.h"
#include "fuzz.h"
#include "iocs/find/base_version.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ioc_exporter;
  using fuzz::check;
  static const int file = ::memfd_create("elf", MFD_CLOEXEC);
  static const std::array<std::string, 8> wanted{
      "dbProcess", "pdbbase", "x", "", "pCaBucket", "write_action", "clientQ", "send_err"};
  check(::ftruncate(file, 0) == 0 && ::pwrite(file, data, size, 0) == static_cast<ssize_t>(size),
        "no file");
  if (const auto found = elf::find_rsrv_functions(file))
    check(found->write_action != found->write_notify_action, "two functions are one");
  const auto symbols = elf::ElfSymbols::read(file, "file", wanted);
  if (!symbols) {
    check(symbols.error().message().find("file") != std::string::npos, "the error names no file");
    return 0;
  }
  for (const std::string& name : wanted) {
    const elf::ElfSymbol* symbol = symbols->find(name);
    if (symbol == nullptr || !symbol->file_offset) continue;
    check(std::ranges::any_of(symbols->segments(),
                              [&](const elf::LoadSegment& segment) {
                                return symbol->value - segment.address < segment.file_size &&
                                       symbol->value - segment.address + segment.offset ==
                                           *symbol->file_offset;
                              }),
          "a symbol is in no segment");
  }
  symbols->load_bias(0x7f0000000000, 0x1000);
  const std::string version = iocs::base_version_of_file(file, symbols->segments());
  check(version.size() < 64 && iocs::base_version_in(version).empty(), "no version");
  iocs::base_version_from_name(
      {reinterpret_cast<const char*>(data), std::min<std::size_t>(size, 256)});
  return 0;
}
