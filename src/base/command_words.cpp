#include "base/command_words.h"

#include <utility>

namespace ioc_exporter {

Result<CommandWords> parse_command_words(int count, const char* const* words,
                                         const std::set<std::string>& known) {
  CommandWords parsed;
  for (int i = 0; i < count; ++i) {
    const std::string word = words[i];
    if (!word.starts_with("--")) {
      parsed.others.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    if (!known.contains(name)) return error_in_words("no such option: " + word);
    if (equals == std::string::npos && i + 1 == count)
      return error_in_words(word + " wants a value");
    parsed.options[name] = equals == std::string::npos ? words[++i] : word.substr(equals + 1);
  }
  return parsed;
}

}  // namespace ioc_exporter
