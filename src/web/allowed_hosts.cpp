#include "web/allowed_hosts.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "base/ascii.h"
#include "base/value_text.h"

namespace ioc_exporter::web {
namespace {

std::string in_lower_case(std::string_view text) {
  std::string made(text);
  std::ranges::transform(made, made.begin(), lower);
  return made;
}

// Without the port, and without the dot that may end a whole name.
std::string_view name_in(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  host = host.substr(0, host.find(':'));
  if (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

bool is_address(std::string_view name) {
  if (name.starts_with('[')) {
    const std::string inside(name.substr(1, name.size() - std::min<std::size_t>(name.size(), 2)));
    in6_addr address{};
    return ::inet_pton(AF_INET6, inside.c_str(), &address) == 1;
  }
  in_addr address{};
  return ::inet_pton(AF_INET, std::string(name).c_str(), &address) == 1;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line.substr(0, line.find('#')));
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace

AllowedHosts::AllowedHosts(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name == "*")
      any_ = true;
    else if (name.starts_with('.'))
      endings_.push_back(in_lower_case(name));
    else
      names_.insert(in_lower_case(name_in(name)));
  }
}

bool AllowedHosts::allows(std::string_view host) const {
  if (any_ || host.empty()) return true;
  const std::string name = in_lower_case(name_in(host));
  if (name.empty()) return false;
  if (name.find('.') == std::string::npos && !name.starts_with('[')) return true;
  return is_address(name) || names_.contains(name) ||
         std::ranges::any_of(endings_,
                             [&](const std::string& ending) { return name.ends_with(ending); });
}

std::vector<std::string> names_of_this_host() {
  std::array<char, 256> text{};
  if (::gethostname(text.data(), text.size() - 1) != 0) return {};
  const std::string own = text.data();
  const std::string first = own.substr(0, own.find('.'));
  std::vector<std::string> names = {own};
  std::ifstream hosts("/etc/hosts");
  for (std::string line; std::getline(hosts, line);) {
    const auto words = words_of(line);
    if (words.size() < 2 || std::find(words.begin() + 1, words.end(), own) == words.end()) continue;
    names.insert(names.end(), words.begin() + 1, words.end());
  }
  std::ifstream resolver("/etc/resolv.conf");
  for (std::string line; std::getline(resolver, line);) {
    const auto words = words_of(line);
    if (words.empty() || (words[0] != "search" && words[0] != "domain")) continue;
    for (std::size_t i = 1; i < words.size(); ++i) names.push_back(first + "." + words[i]);
  }
  return names;
}

Result<void> check_allowed_host(const std::string& text) {
  const bool good =
      text == "*" || (!text.empty() && text != "." && std::ranges::all_of(text, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '.' || c == '-' || c == '_';
      }));
  if (good) return {};
  return error_in_words(shown(text) +
                        " is no name of a host: NAME without a port, .ENDING, or * for any");
}

}  // namespace ioc_exporter::web
