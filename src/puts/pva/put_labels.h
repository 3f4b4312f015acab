// From what a PVA server calls a client to the labels of its puts. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "puts/totals/put_totals.h"
#include "shared/server_probe.h"

namespace ioc_exporter::puts {

// "192.0.2.7" of "192.0.2.7:41234", "2001:db8::1" of "[2001:db8::1]:41234".
std::string address_of_peer(std::string_view peer);

// As access security has it: the account's last part where the client just says its name ("ca"),
// else "method/account". QSRV 1 has done that itself, and knows no method then.
std::string user_of(std::string_view method, std::string_view account);

PutLabels labels_of(std::uint32_t ioc, const iocx_pva_key& key);

}  // namespace ioc_exporter::puts
