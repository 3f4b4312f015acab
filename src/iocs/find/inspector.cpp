#include "iocs/find/inspector.h"

#include <iterator>

#include "iocs/find/base_version.h"

namespace ioc_exporter::iocs {
namespace {

constexpr std::string_view kDeleted = " (deleted)";
constexpr std::size_t kMaxModules = 4096;
constexpr std::size_t kMostMaps = 16u << 20;  // bytes of /proc/PID/maps
constexpr std::size_t kMaxThreadsRead = 256;
// rsrv, callbacks and scan threads: no IOC runs with fewer once it is initialized.
constexpr std::uint64_t kFewestIocThreads = 4;

// Of EPICS Base. send_err and the one behind it are static in rsrv (rsrv_functions.h). Not every
// version has each: dbProcessNotify is since 3.15.0.1 what dbPutNotify was before; dbDbPutValue
// (static, since 3.15) and dbPutLinkValue (before) do what dbPutLink is for; dbCanSetLink (7.0) and
// dbPutFieldLink (static, mostly inlined) are for link fields; scanList is static. dbPut.part.0 is
// dbPut's body where a compiler has split it off.
constexpr const char* kProbedFunctions[] = {"dbProcess",
                                            "dbPut",
                                            "dbPut.part.0",
                                            "dbPutField",
                                            "dbPutFieldLink",
                                            "dbCanSetLink",
                                            "dbChannelPut",
                                            "dbParseLink",
                                            "dbPutLink",
                                            "dbPutLinkValue",
                                            "dbDbPutValue",
                                            "dbProcessNotify",
                                            "dbNotifyCancel",
                                            "dbPutNotify",
                                            "dbpf",
                                            "recGblFwdLink",
                                            "scanList",
                                            "scanOnce",
                                            "scanOnceCallback",
                                            "dbCaPutLinkCallback",
                                            "send_err",
                                            "write_notify_done_callback",
                                            "cas_send_bs_msg",
                                            kInsideWrite,
                                            kInsideWriteNotify,
                                            "putNotifyCompletion"};
// Rarely executed parts of functions, which a compiler has put elsewhere.
constexpr const char* kColdParts[] = {
    "dbProcess.cold", "dbpf.cold", "scanList.cold",
    "_ZN11dbChannelIO5writeER10epicsGuardI10epicsMutexEjmPKv.cold",
    "_ZN11dbChannelIO5writeER10epicsGuardI10epicsMutexEjmPKvR14cacWriteNotifyPj.cold"};
// Of dbScan.c, callback.c and osdThread.c, all static, and of dbAccess.c. callbackQueue is since
// 3.15.0.1 what callbackQ was before.
constexpr const char* kReadVariables[] = {"nPeriodic",     "papPeriodic", "callbackQueue",
                                          "callbackQ",     "onceQ",       "onceQOverruns",
                                          "onceQueueSize", "pthreadList", "interruptAccept"};

// Of rsrv/camessage.c, static: what each WRITE and each WRITE_NOTIFY calls.
constexpr const char* kCaWriteFunctions[] = {"write_action", "write_notify_action"};

// Of libcas, the class from which a program derives its server, and of libca. Every program of
// pcaspy maps both and is no gateway: the executable itself must use them, as ca-gateway does.
constexpr const char* kGatewaySymbols[] = {"_ZTI8caServer", "ca_create_channel"};

// In this order:
// - QSRV 1 (pva2pva, pvAccess), each for C++11 and for C++98 (std::tr1): a put to a record, to a
//   group, the end of a put.
// - QSRV 2 (pvxs): the lambdas that SingleSource and GroupSource give to onPut(), the latter until
//   and since 1.5.2; the end of a put in failure, for both layouts of std::string.
// - Of both: what the database calls at the end of a put with callback. Of QSRV 2: the end of a put
//   without failure. Of both: what is called to write.
// Functions of pvxs are local to their source files.
constexpr const char* kPvaPutFunctions[] = {
    // clang-format off
    "_ZN12PDBSinglePut3putERKSt10shared_ptrIN5epics6pvData11PVStructureEERKS0_INS2_6BitSetE"
    "E",
    "_ZN12PDBSinglePut3putERKNSt3tr110shared_ptrIN5epics6pvData11PVStructureEEERKNS1_INS3_6"
    "BitSetEEE",
    "_ZN11PDBGroupPut3putERKSt10shared_ptrIN5epics6pvData11PVStructureEERKS0_INS2_6BitSetEE",
    "_ZN11PDBGroupPut3putERKNSt3tr110shared_ptrIN5epics6pvData11PVStructureEEERKNS1_INS3_6B"
    "itSetEEE",
    "_ZN5epics8pvAccess29ServerChannelPutRequesterImpl7putDoneERKNS_6pvData6StatusERKSt10sh"
    "ared_ptrINS0_10ChannelPutEE",
    "_ZN5epics8pvAccess29ServerChannelPutRequesterImpl7putDoneERKNS_6pvData6StatusERKNSt3tr"
    "110shared_ptrINS0_10ChannelPutEEE",
    "_ZNSt17_Function_handlerIFvOSt10unique_ptrIN4pvxs6server6ExecOpESt14default_deleteIS3_"
    "EEONS1_5ValueEEZNS1_3ioc12_GLOBAL__N_14onOpERKSt10shared_ptrINSB_10SingleInfoEERKS8_OS"
    "0_INS2_9ConnectOpES4_ISK_EEEUlS7_S9_E0_E9_M_invokeERKSt9_Any_dataS7_S9_",
    "_ZNSt17_Function_handlerIFvOSt10unique_ptrIN4pvxs6server6ExecOpESt14default_deleteIS3_"
    "EEONS1_5ValueEEZNS1_3ioc11GroupSource4onOpERNSB_5GroupEOS0_INS2_9ConnectOpES4_ISF_EEEU"
    "lS7_S9_E0_E9_M_invokeERKSt9_Any_dataS7_S9_",
    "_ZNSt17_Function_handlerIFvOSt10unique_ptrIN4pvxs6server6ExecOpESt14default_deleteIS3_"
    "EEONS1_5ValueEEZNS1_3iocL4onOpERKSt10shared_ptrINSB_18GroupSecurityCacheEEOS0_INS2_9Co"
    "nnectOpES4_ISH_EEEUlS7_S9_E0_E9_M_invokeERKSt9_Any_dataS7_S9_",
    "_ZN4pvxs4impl12_GLOBAL__N_113ServerGPRExec5errorERKNSt7__cxx1112basic_stringIcSt11char"
    "_traitsIcESaIcEEE",
    "_ZN4pvxs4impl12_GLOBAL__N_113ServerGPRExec5errorERKSs",
    "_ZL20single_done_callbackP13processNotify",
    "_ZN4pvxs3ioc12_GLOBAL__N_112doneCallbackEP13processNotify",
    "_ZN4pvxs4impl12_GLOBAL__N_113ServerGPRExec5replyEv",
    "_ZL19single_put_callbackP13processNotify13notifyPutType",
    "_ZN4pvxs3ioc12_GLOBAL__N_111putCallbackEP13processNotify13notifyPutType"
    // clang-format on
};
// Of those: that each put to a record enters, with one server or the other.
constexpr std::size_t kPvaEntries[] = {0, 1, 6};

// State that all threads of the process share.
std::string in_proc(const ProcessStat& stat, std::string_view name) {
  std::string path = folder_of_thread(stat.id.pid, stat.thread);
  path += '/';
  path += name;
  return path;
}

// Not below /proc/PID/task/TID.
std::string map_files(const ProcessStat& stat) {
  return "/proc/" + std::to_string(stat.thread) + "/map_files/";
}

std::string_view file_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::map<std::string, elf::CodeRange> functions_of(const elf::ElfSymbols& elf) {
  std::map<std::string, elf::CodeRange> functions;
  const auto add = [&](const char* name) {
    if (const elf::ElfSymbol* const function = elf.find(name); function && function->function)
      functions.emplace(name, elf::CodeRange{*function->file_offset, function->size});
  };
  std::ranges::for_each(kProbedFunctions, add);
  std::ranges::for_each(kColdParts, add);
  return functions;
}

}  // namespace

std::vector<std::string> Inspector::wanted_symbols() {
  std::vector<std::string> all(std::begin(kProbedFunctions), std::end(kProbedFunctions));
  all.insert(all.end(), std::begin(kColdParts), std::end(kColdParts));
  all.insert(all.end(), {"pdbbase", "ca_server_port", "pCaBucket", "clientQ"});
  all.insert(all.end(), std::begin(kReadVariables), std::end(kReadVariables));
  all.insert(all.end(), std::begin(kCaWriteFunctions), std::end(kCaWriteFunctions));
  all.insert(all.end(), std::begin(kPvaPutFunctions), std::end(kPvaPutFunctions));
  all.insert(all.end(), std::begin(kGatewaySymbols), std::end(kGatewaySymbols));
  return all;
}

std::span<const char* const> Inspector::probed_functions() {
  return kProbedFunctions;
}

std::span<const char* const> Inspector::read_variables() {
  return kReadVariables;
}

std::span<const char* const> Inspector::ca_write_functions() {
  return kCaWriteFunctions;
}

std::span<const char* const> Inspector::pva_put_functions() {
  return kPvaPutFunctions;
}

Result<Inspection> Inspector::inspect(const ProcessStat& stat, const Inspection* before,
                                      bool thorough) {
  const pid_t pid = stat.id.pid;
  auto maps = reader_.text(pid, in_proc(stat, "maps"), kMostMaps);
  if (!maps) return std::move(maps).error();
  Inspection found;
  found.modules = elf::executable_modules(*maps);
  if (found.modules.empty()) return error_in_words("read " + in_proc(stat, "maps") + ": empty");
  if (found.modules.size() > kMaxModules) found.modules.resize(kMaxModules);
  auto executable = fs_.read_link(in_proc(stat, "exe"));
  if (!executable) return std::move(executable).error();
  found.executable = std::move(*executable);
  if (found.executable.ends_with(kDeleted))
    found.executable.resize(found.executable.size() - kDeleted.size());

  const bool same = before != nullptr && !before->uncertain && before->modules == found.modules &&
                    before->executable == found.executable;
  // Without dbProcess, threads may have come that have the names of an IOC's.
  const bool same_threads = same && !thorough && before->threads == stat.threads;
  if (same && ((before->target && !before->is_gateway) || same_threads)) return *before;
  found.threads = stat.threads;

  const std::vector<Module> modules = open_modules(stat, found);
  find_symbols(modules, found);
  if (found.target && found.is_gateway && has_ioc_threads(stat)) found.is_gateway = false;
  // Of p4p only its gateway, pvagw, imports this.
  if (!found.target && std::ranges::any_of(found.modules, [](const elf::Mapping& one) {
        return one.path.find("/p4p/_gw.") != std::string::npos;
      }))
    found.is_gateway = true;
  if (found.target) found.problem.clear();
  if (!found.target && found.problem.empty() && has_ioc_threads(stat))
    found.problem = why_not_found(stat, modules, found);
  if (found.is_ioc()) find_version(pid, modules, found);
  return found;
}

// The file is reached through map_files, which leads to the very file that is mapped also when it
// was deleted or belongs to another mount namespace. It needs CAP_CHECKPOINT_RESTORE (Linux 5.9);
// without, the path is taken, if it still leads to the same inode.
std::vector<Inspector::Module> Inspector::open_modules(const ProcessStat& stat, Inspection& found) {
  const pid_t pid = stat.id.pid;
  std::vector<Module> modules;
  std::vector<std::string> paths;
  for (const elf::Mapping& mapping : found.modules)
    paths.push_back(map_files(stat) + elf::map_files_name(mapping));
  auto statuses = reader_.statuses(pid, paths);
  if (!statuses) {
    found.uncertain = true;
    note(statuses.error(), found);
    return modules;
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const elf::Mapping& mapping = found.modules[i];
    Module module{&mapping, std::move(paths[i]), nullptr};
    module.facts = facts_of(pid, module.path, (*statuses)[i], found);
    if (!module.facts) {
      module.path = in_proc(stat, "root") + mapping.path;
      const auto status = reader_.status(pid, module.path);
      if (!status) note(status.error(), found);
      if (status && status->st_ino == mapping.inode)
        module.facts = facts_of(pid, module.path, *status, found);
    }
    if (module.facts)
      modules.push_back(std::move(module));
    else
      found.uncertain = true;
  }
  std::stable_partition(modules.begin(), modules.end(), [&](const Module& module) {
    return module.mapping->path == found.executable;
  });
  return modules;
}

void Inspector::note(const Error& error, Inspection& found) {
  found.put_off = found.put_off || is_for_now(error);
}

std::shared_ptr<const FileFacts> Inspector::facts_of(pid_t pid, const std::string& path,
                                                     const FileStatus& status, Inspection& found) {
  if (!status) return nullptr;
  auto facts = files_.facts_of(pid, path, *status);
  if (facts) return std::move(*facts);
  note(facts.error(), found);
  return nullptr;
}

void Inspector::find_symbols(const std::vector<Module>& modules, Inspection& found) {
  for (const Module& module : modules) {
    if (!module.facts->elf) {
      found.uncertain = found.uncertain || module.facts->retry;
      continue;
    }
    const elf::ElfSymbols& elf = *module.facts->elf;
    const elf::Mapping& mapping = *module.mapping;
    if (mapping.path == found.executable)
      found.is_gateway =
          std::ranges::all_of(kGatewaySymbols, [&elf](const char* name) { return elf.uses(name); });
    const elf::ElfSymbol* process = elf.find("dbProcess");
    const bool callable = process != nullptr && process->function &&
                          elf::maps_code_at(mapping, *process->file_offset);
    if (callable && module.facts->code && !found.target)
      found.target = ProbeTarget{mapping.path, mapping.deleted, module.facts->code,
                                 *process->file_offset, functions_of(elf)};
    if (callable && !module.facts->code) {
      found.uncertain = true;
      found.problem = "find dbProcess in " + mapping.path + ": " + module.facts->problem;
    }
    const auto bias = elf.load_bias(mapping.start, mapping.offset);
    if (!bias) continue;
    if (const elf::ElfSymbol* base = elf.find("pdbbase"))
      found.pdbbase.push_back(*bias + base->value);
    if (const elf::ElfSymbol* port = elf.find("ca_server_port"))
      found.ca_server_port.push_back(*bias + port->value);
    const elf::ElfSymbol* const bucket = elf.find("pCaBucket");
    const elf::ElfSymbol* const queue = elf.find("clientQ");
    if (bucket != nullptr && queue != nullptr)
      found.ca_server.push_back({*bias + bucket->value, *bias + queue->value});
    if (bucket != nullptr) find_ca_writes(module, *bias + bucket->value, found);
    find_pva_puts(module, found);
    find_variables(elf, *bias, found);
  }
}

// In the file of the server's hash of channels only: the names are not rsrv's alone.
void Inspector::find_ca_writes(const Module& module, std::uint64_t bucket, Inspection& found) {
  const elf::ElfSymbols& elf = *module.facts->elf;
  const elf::ElfSymbol* const write = elf.find(kCaWriteFunctions[0]);
  const elf::ElfSymbol* const notify = elf.find(kCaWriteFunctions[1]);
  const auto is_code = [&](const elf::ElfSymbol* symbol) {
    return symbol != nullptr && symbol->function &&
           elf::maps_code_at(*module.mapping, *symbol->file_offset);
  };
  if (found.ca_writes || !module.facts->code || !is_code(write) || !is_code(notify)) return;
  found.ca_writes = CaWriteTarget{module.mapping->path, module.facts->code, *write->file_offset,
                                  *notify->file_offset, bucket};
}

void Inspector::find_pva_puts(const Module& module, Inspection& found) {
  const std::string_view library = file_name(module.mapping->path);
  found.serves_pva =
      found.serves_pva || library.starts_with("libqsrv.so") || library.starts_with("libpvxsIoc.so");
  if (!module.facts->code) return;
  for (std::uint32_t i = 0; i < std::size(kPvaPutFunctions); ++i) {
    const elf::ElfSymbol* const symbol = module.facts->elf->find(kPvaPutFunctions[i]);
    if (symbol == nullptr || !symbol->function ||
        !elf::maps_code_at(*module.mapping, *symbol->file_offset))
      continue;
    found.pva_puts.push_back({module.mapping->path, module.facts->code, i, *symbol->file_offset});
    found.serves_pva =
        found.serves_pva || std::ranges::find(kPvaEntries, i) != std::end(kPvaEntries);
  }
}

void Inspector::find_variables(const elf::ElfSymbols& elf, std::uint64_t bias, Inspection& found) {
  for (const char* const name : kReadVariables)
    if (const elf::ElfSymbol* const variable = elf.find(name))
      found.variables[name].push_back({bias + variable->value, variable->size});
}

// libCom holds the string since 3.15, libmiscIoc before; a static executable holds it itself.
void Inspector::find_version(pid_t pid, const std::vector<Module>& modules, Inspection& found) {
  const auto ask = [&](auto&& chosen) {
    for (const Module& module : modules) {
      if (!found.base_version.empty() || !chosen(module)) continue;
      found.base_version = files_.base_version(pid, module.path, *module.facts);
    }
  };
  const auto named = [](std::string_view start) {
    return [start](const Module& module) {
      return file_name(module.mapping->path).starts_with(start);
    };
  };
  const auto is_target = [&](const Module& module) {
    return found.target && module.facts->code == found.target->file;
  };
  ask(named("libCom.so"));
  ask(named("libmiscIoc.so"));
  ask(is_target);
  ask([&](const Module& module) { return module.mapping->path == found.executable; });
  if (found.base_version.empty() && found.target)
    found.base_version = base_version_from_name(found.target->display_path);
}

// Names of Base's threads since 3.15.0.1; two of them, since one name may be anybody's.
bool Inspector::has_ioc_threads(const ProcessStat& stat) const {
  if (stat.threads < kFewestIocThreads) return false;
  const std::string folder = folder_of_thread(stat.id.pid, stat.id.pid) + "/task";
  const auto tasks = fs_.list(folder);
  if (!tasks) return false;
  bool once = false;
  bool other = false;
  for (std::size_t i = 0; i < std::min(tasks->size(), kMaxThreadsRead) && !(once && other); ++i) {
    const auto comm = fs_.read(folder + "/" + (*tasks)[i] + "/comm", 64);
    if (!comm) continue;
    once = once || comm->starts_with("scanOnce");
    other = other || comm->starts_with("CAS-TCP") || comm->starts_with("cbLow");
  }
  return once && other;
}

// Before 3.15.0.1 a thread has its process' name.
bool Inspector::runs_database(const ProcessStat& stat, const Inspection& inspection) const {
  const bool named = !inspection.base_version.empty() &&
                     !inspection.base_version.starts_with("3.14") &&
                     !inspection.base_version.starts_with("database");
  return named ? has_ioc_threads(stat) : stat.threads >= kFewestIocThreads;
}

std::string Inspector::why_not_found(const ProcessStat& stat, const std::vector<Module>& modules,
                                     const Inspection& found) const {
  std::string text =
      "find dbProcess in " + found.executable + " (pid " + std::to_string(stat.id.pid) + "): ";
  const auto executable = std::ranges::find_if(
      modules, [&](const Module& module) { return module.mapping->path == found.executable; });
  if (executable == modules.end()) return text + "the file cannot be opened";
  if (!executable->facts->elf) return text + executable->facts->problem;
  if (executable->facts->elf->stripped()) return text + "no symbol table, the file is stripped";
  return text + "neither the file nor a library that it maps defines it";
}

}  // namespace ioc_exporter::iocs
