#include "records/probe/ending_function.h"

#include <unistd.h>

namespace ioc_exporter::records {
namespace {

Result<std::string> read_code(int fd, std::uint64_t offset, std::uint64_t size) {
  if (size == 0 || size > kMostCode) return error_in_words("its code is missing or too long");
  std::string code(size, '\0');
  const ssize_t got = ::pread(fd, code.data(), size, static_cast<off_t>(offset));
  if (got < 0) return last_error("read its code");
  if (static_cast<std::uint64_t>(got) != size)
    return error_in_words("the file ends before its code");
  return code;
}

}  // namespace

Result<std::shared_ptr<const EndingFunction>> EndingFunction::find(
    int fd, std::span<const iocs::CodeRange> parts, Work work) {
  std::shared_ptr<EndingFunction> made(new EndingFunction);
  made->parts_.assign(parts.begin(), parts.end());
  std::vector<CodePart> code;
  for (const iocs::CodeRange& part : parts) {
    auto bytes = read_code(fd, part.file_offset, part.size);
    if (!bytes) return std::move(bytes).error();
    const std::string& kept = made->code_.emplace_back(std::move(*bytes));
    code.push_back(
        {part.file_offset, {reinterpret_cast<const std::uint8_t*>(kept.data()), kept.size()}});
  }
  auto ends = find_function_ends(code, own_decoder(), work);
  if (!ends) return std::move(ends).error();
  made->ends_ = std::move(*ends);
  return std::shared_ptr<const EndingFunction>(std::move(made));
}

Result<void> EndingFunction::check(const iocs::CodeFile& file) const {
  std::size_t i = 0;
  for (const std::string& code : code_) {
    auto now = read_code(file.fd(), parts_[i++].file_offset, code.size());
    if (!now) return std::move(now).error();
    if (*now != code)
      return error_in_words("the file was changed since the ends of its functions were found");
  }
  return {};
}

}  // namespace ioc_exporter::records
