#include "iocs/find/traced_or_stopped.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "base/utf8.h"

namespace ioc_exporter::iocs {
namespace {

constexpr std::size_t kMostStatus = 4096;

// Text after `field` ("\nState:\t") up to the end of the line.
std::optional<std::string_view> value_of(std::string_view status, std::string_view field) {
  const auto at = status.find(field);
  if (at == std::string_view::npos) return {};
  status.remove_prefix(at + field.size());
  return status.substr(0, status.find('\n'));
}

}  // namespace

Result<std::string> why_traced_or_stopped(const RootedFs& fs, const std::string& folder,
                                          const KeptFile& kept) {
  const std::string path = folder + "/status";
  std::optional<std::string> status = kept.is_open() ? kept.read(kMostStatus) : std::nullopt;
  if (!status) {
    auto read = fs.read(path, kMostStatus);
    if (!read) return std::move(read).error();
    status = std::move(*read);
  }
  // The process' name comes first, with its newlines escaped: no field can be forged by it.
  const auto state = value_of(*status, "\nState:\t");
  const auto tracer = value_of(*status, "\nTracerPid:\t");
  if (!state || state->empty() || !tracer)
    return error_in_words("read " + path + ": not in the form of proc(5)");
  const char letter = state->front();
  if (letter == 'Z' || letter == 'X')
    return error_in_words("read " + path + ": the thread has ended");
  pid_t by = 0;
  std::from_chars(tracer->data(), tracer->data() + tracer->size(), by);
  if (by > 0) {
    const auto comm = fs.read("/proc/" + std::to_string(by) + "/comm", 64);
    const std::string name =
        comm ? printable_utf8(std::string_view(*comm).substr(0, comm->find('\n')), 64) : "";
    const std::string number = "pid " + std::to_string(by);
    return "traced by " + (name.empty() ? number : name + " (" + number + ")");
  }
  if (letter == 'T' || letter == 't') return std::string("stopped by a signal");
  return std::string();
}

}  // namespace ioc_exporter::iocs
