// The probes on functions of an IOC that the BPF object of records has programs for.
#pragma once

#include <cstdint>
#include <optional>

#include "shared/function_ends.h"

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

// Names of BPF programs. A function's entry has one for attachments to one process and one for
// those to all processes; where a cookie tells them apart, the first does for both.
struct RecordProgramNames {
  RecordProgram program;
  const char* function;  // for messages
  const char* entry_process;
  const char* entry_all;
  // At the places where the function ends. Null: there is none.
  const char* at_end = nullptr;
  std::optional<iocx_ending_function> ending = {};
};

const RecordProgramNames& names_of(RecordProgram program);

}  // namespace ioc_exporter::records
