// Functions of an IOC that can be probed, by the files that it maps.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "functions/description.h"
#include "iocs/elf/function_search.h"
#include "iocs/ioc_id.h"
#include "iocs/memory/process_reader.h"

namespace ioc_exporter::functions {

struct ListedFunction {
  std::string symbol;  // as a description names it
  std::uint64_t size = 0;
  std::string untimed;  // why it cannot be timed; "" = it can
  iocs::Unwinding unwinding = iocs::Unwinding::none;
  std::vector<std::string> described;  // names of the descriptions that are about it
};

struct ListedFile {
  std::string path;     // as the IOC sees it
  std::string problem;  // what is missing; "" = nothing
  std::vector<ListedFunction> functions;
};

// The files that an IOC maps executable, in the order of the maps, with those functions for whose
// name, or demangled name, `glob` stands. "": how many functions there are, with nothing but their
// sizes. An error where the IOC's maps cannot be read; a file's is its problem.
Result<std::vector<ListedFile>> list_functions(const std::shared_ptr<iocs::ProcessReader>& reader,
                                               const iocs::IocId& id, const std::string& glob,
                                               const std::shared_ptr<const Descriptions>& known);

// A description that counts it, and its name.
std::string name_of(const ListedFile& file, const ListedFunction& function);
Result<Description> description_of(const ListedFile& file, const ListedFunction& function);

}  // namespace ioc_exporter::functions
