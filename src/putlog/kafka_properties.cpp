#include <cerrno>
#include <fstream>

#include "base/value_text.h"
#include "putlog/kafka_sink.h"

namespace ioc_exporter::putlog {
namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

}  // namespace

Result<std::map<std::string, std::string>> read_kafka_properties(const std::string& path) {
  std::map<std::string, std::string> properties;
  if (path.empty()) return properties;
  std::ifstream file(path);
  if (!file) return last_error("read " + path);
  unsigned number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    line = trimmed(line);
    if (line.empty() || line.front() == '#') continue;
    const std::size_t equals = line.find('=');
    // The line may hold a password: it is not repeated.
    if (equals == std::string::npos || equals == 0)
      return error_in_words("read " + path + ": line " + std::to_string(number) +
                            " is none such as security.protocol=SSL");
    properties[trimmed(line.substr(0, equals))] = trimmed(line.substr(equals + 1));
  }
  if (file.bad()) return last_error("read " + path);
  return properties;
}

}  // namespace ioc_exporter::putlog
