#include "web/request_slots.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

namespace ioc_exporter::web {
namespace {

// The /64 of an IPv6 address, of which a host has as many addresses as it likes.
std::string network_of(const std::string& address) {
  in6_addr v6{};  // a link's own has its name in its text
  if (::inet_pton(AF_INET6, address.substr(0, address.find('%')).c_str(), &v6) != 1) return address;
  return "/64 " + std::string(reinterpret_cast<const char*>(&v6), sizeof v6 / 2);
}

}  // namespace

RequestSlots::Slot::Slot(RequestSlots& slots, const std::string& address, bool known)
    : slots_(slots), network_(network_of(address)) {
  const auto part = [most = slots.most_](std::size_t of) {
    return std::max<std::size_t>(1, most / of);
  };
  const std::scoped_lock lock(slots_.mutex_);
  const auto own = slots_.networks_.find(network_);
  has_place_ = slots_.taken_ < part(known ? 1 : 2) &&
               (own == slots_.networks_.end() || own->second < part(3));
  if (!has_place_) return;
  ++slots_.networks_[network_];
  ++slots_.taken_;
}

RequestSlots::Slot::~Slot() {
  if (!has_place_) return;
  const std::scoped_lock lock(slots_.mutex_);
  --slots_.taken_;
  const auto own = slots_.networks_.find(network_);
  if (--own->second == 0) slots_.networks_.erase(own);
}

}  // namespace ioc_exporter::web
