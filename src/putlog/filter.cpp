#include "putlog/filter.h"

#include <algorithm>
#include <string>

#include "exposition/label_text.h"
#include "policy/policy.h"
#include "putlog/entry.h"

namespace ioc_exporter::putlog {
namespace {

bool is_plain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f;
}

bool wants(const NameFilter& filter, std::string_view name) {
  return (!filter.include || matches(*filter.include, name)) &&
         !(filter.exclude && matches(*filter.exclude, name));
}

bool matches_plain(const Pattern& pattern, std::string_view pv) {
  return policy::matches_plain(policy::plain_name(pv), [&pattern](const std::string& name) {
    return matches(pattern, name);
  });
}

// A name that is not known may be any. What is left out is so by its plain name only: modifiers may
// hold any text.
bool wants_pv(const NameFilter& filter, std::string_view pv) {
  return pv.empty() || ((!filter.include || matches_pv(*filter.include, pv)) &&
                        !(filter.exclude && matches_plain(*filter.exclude, pv)));
}

// Of a group also by a field that it writes, unless it is left out by its own name.
bool wants_pv(const NameFilter& filter, const PutEvent& event) {
  if (wants_pv(filter, event.pv)) return true;
  return !(filter.exclude && matches_plain(*filter.exclude, event.pv)) &&
         std::ranges::any_of(
             event.fields, [&filter](const PutField& one) { return wants_pv(filter, one.field); });
}

bool wants_client(const NameFilter& filter, const PutEvent& put) {
  const auto either = [&put](const Pattern& pattern) {
    return matches(pattern, put.client) || matches(pattern, address_of(put));
  };
  return (!filter.include || either(*filter.include)) &&
         !(filter.exclude && either(*filter.exclude));
}

}  // namespace

bool matches(const Pattern& pattern, std::string_view name) {
  if (std::ranges::all_of(name, is_plain)) return pattern.matches(name);
  std::string shown = exposition::utf8_safe(name);
  std::ranges::replace(shown, '\n', ' ');  // which "." does not match
  return pattern.matches(shown);
}

bool matches_pv(const Pattern& pattern, std::string_view pv) {
  return matches(pattern, pv) || matches_plain(pattern, pv);
}

bool is_unexpected(const PutEvent& event) {
  return event.is_bad();
}

bool is_usual_inside(const PutEvent& event) {
  return event.inside && !is_unexpected(event);
}

bool EventFilter::wants(const PutEvent& event) const {
  return (!unexpected || is_unexpected(event)) && (inside || !is_usual_inside(event)) &&
         putlog::wants(ioc, event.ioc) && wants_pv(pv, event) && putlog::wants(user, event.user) &&
         wants_client(client, event);
}

}  // namespace ioc_exporter::putlog
