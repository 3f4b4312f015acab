// EndingFunction: where a function of a library ends, and the code by which that is known.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "iocs/elf/code_file.h"
#include "records/probe/function_end.h"
#include "records/probe/function_ends.h"

namespace ioc_exporter::records {

class EndingFunction {
 public:
  // `fd`: the file. `parts`: all code of the function, the first begins with its entry. `work`:
  // what it does before it ends, or it is another one than is thought.
  static Result<std::shared_ptr<const EndingFunction>> find(int fd,
                                                            std::span<const iocs::CodeRange> parts,
                                                            Work work = Work::nothing);

  const FunctionEnds& ends() const { return ends_; }
  const std::vector<iocs::CodeRange>& parts() const { return parts_; }
  // To be asked right before each attachment, after CodeFile::may_probe() of its entry: whether the
  // file holds all of its code still, so that it ends where it did.
  Result<void> check(const iocs::CodeFile& file) const;

 private:
  EndingFunction() = default;

  std::vector<iocs::CodeRange> parts_;
  std::deque<std::string> code_;  // of each part; in a deque they stay where they are
  FunctionEnds ends_;
};

}  // namespace ioc_exporter::records
