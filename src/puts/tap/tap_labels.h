// The labels of a channel's puts, from what the kernel stored.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "puts/pva/put_labels.h"
#include "puts/tap/connections.h"
#include "puts/tap/server.h"
#include "puts/totals/put_totals.h"
#include "shared/ca_tap.h"

namespace ioc_exporter::puts {

// A text of the kernel's: ends at its first zero byte.
template <std::size_t N>
std::string kernel_text(const char (&bytes)[N]) {
  return std::string(bytes, std::find(bytes, bytes + N, '\0'));
}

// The client as the puts' labels have it: user, then host. By PV Access as from the server
// (puts/pva/put_labels.h); another method than "ca" stands before a slash, without its account.
inline std::pair<std::string, std::string> user_and_host(Protocol protocol,
                                                         const iocx_ca_identity& identity,
                                                         const iocx_ca_address& client) {
  std::string user = kernel_text(identity.user);
  if (protocol == Protocol::ca) return {std::move(user), kernel_text(identity.host)};
  const std::string_view anonymous = "anonymous";
  if (!user.ends_with('/'))
    user = user_of("ca", user);
  else if (user.size() == anonymous.size() + 1 && user.starts_with(anonymous))
    user += anonymous;
  return {std::move(user), ca_address_text(client)};
}

inline PutLabels labels_of(const ServerKey& server, const iocx_ca_channel_info& info) {
  auto [user, host] = user_and_host(server.protocol, info.identity, info.client);
  return {server.ioc,      kernel_text(info.name), ca_address_text(info.client),
          std::move(user), std::move(host),        false,
          server.protocol};
}

}  // namespace ioc_exporter::puts
