// The probes on functions of an IOC that the BPF object of records has programs for.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "iocs/elf/attacher.h"
#include "shared/record_process.h"

namespace ioc_exporter::records {

enum class RecordProgram : std::uint8_t {
  process,         // dbProcess
  put,             // dbPut
  put_link_field,  // dbCanSetLink
  put_field,       // dbPutField
  put_link,        // dbPutLink
  notify,          // dbProcessNotify, dbPutNotify
  shell,           // dbpf
  scan_list,       // scanList
  completion,      // recGblFwdLink
  link_put,        // dbCaPutLinkCallback
};

// In the order of RecordProgram.
std::vector<iocs::FunctionPrograms> record_programs();

// Index into function_ends; nothing: the ends of its function are not seen.
std::optional<iocx_ending_function> ending_of(RecordProgram program);

}  // namespace ioc_exporter::records
