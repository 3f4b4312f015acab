#include "putlog/queue.h"

#include <string>

namespace ioc_exporter::putlog {
namespace {

constexpr std::size_t kBlock = 32;  // what the allocator adds, and what counts a share

}  // namespace

std::size_t footprint_of(const std::string& text) {
  return text.capacity() > std::string().capacity() ? text.capacity() + kBlock : 0;
}

std::size_t footprint_of(const std::optional<Value>& value) {
  if (!value) return 0;
  std::size_t bytes = value->elements.capacity() * sizeof(Element) + kBlock;
  for (const Element& element : value->elements)
    if (const auto* text = std::get_if<std::string>(&element)) bytes += footprint_of(*text);
  return bytes;
}

std::size_t footprint(const PutEvent& event) {
  std::size_t bytes = sizeof event + kBlock;
  for (const std::string* text :
       {&event.ioc, &event.server, &event.client, &event.user, &event.client_host, &event.pv,
        &event.op, &event.type, &event.value_unknown, &event.status, &event.rule, &event.action})
    bytes += footprint_of(*text);
  return bytes + footprint_of(event.value) + footprint_of(event.sent) + footprint_of(event.old) +
         footprint_of(event.after);
}

}  // namespace ioc_exporter::putlog
