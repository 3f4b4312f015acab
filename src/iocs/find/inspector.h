// Inspector: examines one process in full. Is it an IOC, and where is what the probes need?
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/rooted_fs.h"
#include "elf/maps.h"
#include "iocs/find/file_cache.h"
#include "iocs/find/process_stat.h"
#include "iocs/ioc.h"

namespace ioc_exporter::iocs {

// dbChannelIO::write(), plain and with callback: each write of a client of Channel Access in the
// IOC's own process to one of its records (dbChannelIO.cpp, exported in all Bases).
inline constexpr const char* kInsideWrite =
    "_ZN11dbChannelIO5writeER10epicsGuardI10epicsMutexEjmPKv";
inline constexpr const char* kInsideWriteNotify =
    "_ZN11dbChannelIO5writeER10epicsGuardI10epicsMutexEjmPKvR14cacWriteNotifyPj";

// Without a target and without a problem: not an IOC.
struct Inspection : IocCode {
  std::vector<elf::Mapping> modules;  // files mapped executable, in the order of the maps
  bool uncertain = false;     // a file could not be read: inspect again even when nothing changed
  bool put_off = false;       // one could not be read now: inspect again soon
  std::uint64_t threads = 0;  // how many there were when their names were read

  // A gateway that was built with caPutLog maps dbProcess, too, and never calls it.
  bool is_ioc() const { return !is_gateway && (target.has_value() || !problem.empty()); }
};

class Inspector {
 public:
  Inspector(const RootedFs& fs, ProcessReader& reader, FileCache& files)
      : fs_(fs), reader_(reader), files_(files) {}

  // The symbols that it needs to know of each file.
  static std::vector<std::string> wanted_symbols();
  // Of those, functions of ProbeTarget::functions, which also has "dbProcess.cold" and its
  // like, and the variables in Inspection::variables.
  static std::span<const char* const> probed_functions();
  static std::span<const char* const> read_variables();
  // The functions of CaWriteTarget.
  static std::span<const char* const> ca_write_functions();
  // The functions of PvaPutTarget.
  static std::span<const char* const> pva_put_functions();

  // `before`: the last inspection of the same process, reused when it maps the same files still;
  // `thorough` reads the threads' names again also when there are as many. An error means that the
  // process' maps cannot be read: it ended, or we may not.
  Result<Inspection> inspect(const ProcessStat& stat, const Inspection* before, bool thorough);

  // Threads of an IOC run in it, as their names say.
  bool has_ioc_threads(const ProcessStat& stat) const;
  // The same of a process with dbProcess, also where Base does not name its threads.
  bool runs_database(const ProcessStat& stat, const Inspection& inspection) const;

 private:
  struct Module {
    const elf::Mapping* mapping = nullptr;
    std::string path;  // in the root, to open the file by
    std::shared_ptr<const FileFacts> facts;
  };

  std::vector<Module> open_modules(const ProcessStat& stat, Inspection& found);
  void find_symbols(const std::vector<Module>& modules, Inspection& found);
  static void find_variables(const elf::ElfSymbols& elf, std::uint64_t bias, Inspection& found);
  static void find_ca_writes(const Module& module, std::uint64_t bucket, Inspection& found);
  static void find_pva_puts(const Module& module, Inspection& found);
  void find_version(pid_t pid, const std::vector<Module>& modules, Inspection& found);
  static void note(const Error& error, Inspection& found);
  std::shared_ptr<const FileFacts> facts_of(pid_t pid, const std::string& path,
                                            const FileStatus& status, Inspection& found);
  std::string why_not_found(const ProcessStat& stat, const std::vector<Module>& modules,
                            const Inspection& found) const;

  const RootedFs& fs_;
  ProcessReader& reader_;
  FileCache& files_;
};

}  // namespace ioc_exporter::iocs
