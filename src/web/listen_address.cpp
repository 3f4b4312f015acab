#include "web/listen_address.h"

#include <civetweb.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <charconv>
#include <memory>
#include <utility>

namespace ioc_exporter::web {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Error bad_address(std::string_view text, const std::string& why) {
  return error_in_words("listen address \"" + std::string(text) + "\": " + why);
}

Error cannot_listen(const ListenAddress& address) {
  return last_error("listen on " + address.text());
}

// A socket that listens, as civetweb will make it: to learn the errno that civetweb would only log.
Result<UniqueFd> listen_on(const ListenAddress& address, const sockaddr* where, socklen_t length,
                           bool both_families) {
  UniqueFd fd(::socket(where->sa_family, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!fd) return cannot_listen(address);
  const int on = 1;
  if (::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0)
    return cannot_listen(address);
  const int only_v6 = both_families ? 0 : 1;
  if (where->sa_family == AF_INET6 &&
      ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof only_v6) != 0)
    return cannot_listen(address);
  if (::bind(fd.get(), where, length) != 0 || ::listen(fd.get(), 1) != 0)
    return cannot_listen(address);
  return fd;
}

struct Tried {
  UniqueFd fd;
  std::string civetweb_name;
  std::string numeric = {};
};

bool means_no_ipv6(const Error& error) {
  return error.code == std::errc::address_family_not_supported ||
         error.code == std::errc::address_not_available;
}

Result<Tried> try_every_address(const ListenAddress& address) {
  const std::string port = std::to_string(address.port);
  if (civetweb_has_ipv6()) {
    sockaddr_in6 any6{};
    any6.sin6_family = AF_INET6;
    any6.sin6_port = htons(address.port);
    auto both = listen_on(address, reinterpret_cast<sockaddr*>(&any6), sizeof any6, true);
    if (both) return Tried{std::move(*both), "+" + port};
    if (!means_no_ipv6(both.error())) return std::move(both).error();
  }
  sockaddr_in any4{};
  any4.sin_family = AF_INET;
  any4.sin_port = htons(address.port);
  auto fd = listen_on(address, reinterpret_cast<sockaddr*>(&any4), sizeof any4, false);
  if (!fd) return std::move(fd).error();
  return Tried{std::move(*fd), port};
}

// The first IPv4 address of the host, else its first.
const addrinfo* preferred(const addrinfo* list) {
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next)
    if (at->ai_family == AF_INET) return at;
  return list;
}

Result<Tried> try_host(const ListenAddress& address) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  const std::string port = std::to_string(address.port);
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found);
  const AddressList list(found, ::freeaddrinfo);
  if (failure != 0)
    return error_in_words("listen on " + address.text() + ": " + ::gai_strerror(failure));
  const addrinfo* chosen = preferred(list.get());
  if (chosen->ai_family == AF_INET6 && !civetweb_has_ipv6())
    return error_in_words("listen on " + address.text() +
                          ": the civetweb library of this host was built without IPv6");
  auto fd = listen_on(address, chosen->ai_addr, chosen->ai_addrlen, false);
  if (!fd) return std::move(fd).error();
  char number[NI_MAXHOST];
  const int unnamed = ::getnameinfo(chosen->ai_addr, chosen->ai_addrlen, number, sizeof number,
                                    nullptr, 0, NI_NUMERICHOST);
  if (unnamed != 0)
    return error_in_words("listen on " + address.text() + ": " + ::gai_strerror(unnamed));
  return Tried{std::move(*fd), ListenAddress{number, address.port}.text(), number};
}

}  // namespace

bool civetweb_has_ipv6() {
  return mg_check_feature(MG_FEATURES_IPV6) != 0;
}

Result<ListenAddress> ListenAddress::parse(std::string_view text) {
  ListenAddress address;
  std::string_view port = text;
  if (const auto colon = text.rfind(':'); colon != std::string_view::npos) {
    std::string_view host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (host.starts_with('[') && host.ends_with(']') && host.size() > 2) {
      host = host.substr(1, host.size() - 2);
    } else if (host.find_first_of(":[]") != std::string_view::npos) {
      return bad_address(text, "an IPv6 address stands in brackets, as in [::1]:10064");
    }
    if (host.find_first_of(" \t,/") != std::string_view::npos)
      return bad_address(text, "the host is no address and no name");
    address.host = host;
  }
  const auto [end, failure] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (failure != std::errc() || end != port.data() + port.size())
    return bad_address(text, "the port is no number from 0 to 65535");
  return address;
}

std::string ListenAddress::text() const {
  const bool brackets = host.find(':') != std::string::npos;
  return (brackets ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<UniqueFd> connect_to(const std::string& host, std::uint16_t port,
                            std::chrono::milliseconds patience) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(host.empty() ? "127.0.0.1" : host.c_str(),
                                   std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) return error_in_words(::gai_strerror(failed));
  const AddressList list(found, ::freeaddrinfo);
  UniqueFd fd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return last_error("make a socket");
  const timeval limit = {patience.count() / 1000, patience.count() % 1000 * 1000};
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO})
    if (::setsockopt(fd.get(), SOL_SOCKET, option, &limit, sizeof limit) != 0)
      return last_error("set a time limit");
  if (::connect(fd.get(), found->ai_addr, found->ai_addrlen) != 0) return last_error("connect");
  return fd;
}

Result<std::vector<std::string>> try_listening(std::vector<ListenAddress>& addresses) {
  std::vector<Tried> open;  // all together, so that two of them that collide are found here
  std::vector<std::string> names;
  for (ListenAddress& address : addresses) {
    auto tried = address.host.empty() ? try_every_address(address) : try_host(address);
    if (!tried) return std::move(tried).error();
    names.push_back(tried->civetweb_name);
    address.numeric = tried->numeric;
    open.push_back(std::move(*tried));
  }
  return names;
}

}  // namespace ioc_exporter::web
