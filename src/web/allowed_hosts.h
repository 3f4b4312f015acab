// AllowedHosts: by which names the server may be asked for its pages. A web page can have its
// browser ask this server under a name of the page's own ("DNS rebinding"), and read the answer;
// the name stands in the header Host, and is none of these.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ioc_exporter::web {

class AllowedHosts {
 public:
  // Addresses in figures, names of one label and those in `names` ("*": any, ".site.org": all that
  // end so) are allowed.
  explicit AllowedHosts(const std::vector<std::string>& names);

  // `host`: the header, with or without port. None was sent: allowed, no browser asks so.
  bool allows(std::string_view host) const;

 private:
  std::set<std::string, std::less<>> names_;
  std::vector<std::string> endings_;
  bool any_ = false;
};

// The host's own names: what it calls itself, the same in each domain that /etc/resolv.conf
// searches, and those that /etc/hosts has beside it. Nobody is asked over the network.
std::vector<std::string> names_of_this_host();

// Of --web.allowed-hosts: "name", ".ending", "*".
Result<void> check_allowed_host(const std::string& text);

}  // namespace ioc_exporter::web
