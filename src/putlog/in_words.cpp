#include "putlog/in_words.h"

#include <optional>

#include "base/utf8.h"
#include "putlog/filter.h"
#include "putlog/json.h"

namespace ioc_exporter::putlog {
namespace {

constexpr std::size_t kLongest = 120;

std::string shown(const std::string& text) {
  return text.empty() ? "?" : printable_utf8(text, kLongest);
}

std::string shown(const std::optional<Value>& value) {
  std::string text;
  if (value) append_json_value(text, *value);
  return shown(text);
}

}  // namespace

std::string in_words(const PutEvent& event) {
  std::string text = shown(event.pv) + ": " + shown(event.old) + " -> " + shown(event.value) +
                     " by " + shown(event.user.empty() ? event.client : event.user);
  if (!event.client_host.empty()) text += "@" + shown(event.client_host);
  if (!event.status.empty()) text += ", " + event.status;
  if (is_unexpected(event)) text += ", " + event.action + ": " + shown(event.rule);
  return text;
}

}  // namespace ioc_exporter::putlog
