// The probes on functions of an IOC that the BPF object of records has programs for.
#pragma once

#include <cstdint>

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
};

// Names of BPF programs. A function's entry has one for attachments to one process and one for
// those to all processes; at its return one does for both. Null: there is none.
struct RecordProgramNames {
  RecordProgram program;
  const char* function;  // for messages
  const char* entry_process;
  const char* entry_all;
  const char* at_return;
  // Programs of session probes, which take the place of the others where the kernel has them.
  const char* session_process = nullptr;
  const char* session_all = nullptr;
};

const RecordProgramNames& names_of(RecordProgram program);

}  // namespace ioc_exporter::records
