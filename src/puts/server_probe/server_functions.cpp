#include "puts/server_probe/server_functions.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "iocs/find/inspector.h"

namespace ioc_exporter::ca {
namespace {

constexpr std::array kCaFunctions{"write_action",    "write_notify_action",        "send_err",
                                  "dbProcessNotify", "write_notify_done_callback", "dbNotifyCancel",
                                  "cas_send_bs_msg"};

// Results of puts are counted where all functions are found: in the database's file, which has the
// server since Base 3.15.
ServerFunctions ca_functions(const iocs::Ioc& ioc) {
  ServerFunctions functions{.is_served = true};
  if (!ioc.ca_writes) {
    functions.missing =
        "its files name no functions write_action and write_notify_action, and they were not found "
        "by the server's table of commands";
    return functions;
  }
  const iocs::CaWriteTarget& writes = *ioc.ca_writes;
  const auto add = [&](std::vector<ServerFunction>& to, std::uint64_t offset) {
    to.push_back({static_cast<std::uint32_t>(to.size()), offset, writes.file, writes.display_path});
  };
  add(functions.found, writes.write_action);
  add(functions.found, writes.write_notify_action);
  if (!ioc.target || ioc.target->file != writes.file) return functions;
  auto all = functions.found;
  while (all.size() < kCaFunctions.size()) {
    const auto function = ioc.target->functions.find(kCaFunctions[all.size()]);
    if (function != ioc.target->functions.end())
      add(all, function->second.file_offset);
    else if (all.size() == kCaFlush)
      break;
    else
      return functions;
  }
  functions.found = std::move(all);
  functions.tells_results = true;
  return functions;
}

// Each of iocs::Inspector::pva_put_functions() in all its spellings.
std::string missing_of_pva(const iocs::Ioc& ioc) {
  const auto has_any = [&](std::initializer_list<std::uint32_t> functions) {
    return std::ranges::any_of(functions, [&](std::uint32_t wanted) {
      return std::ranges::find(ioc.pva_puts, wanted, &iocs::PvaPutTarget::function) !=
             ioc.pva_puts.end();
    });
  };
  const bool qsrv1 = has_any({0, 1});
  const bool qsrv2 = has_any({6});
  if (!qsrv1 && !qsrv2)
    return "its files name no functions of QSRV that a put enters (stripped, or of a version that "
           "is not known?)";
  std::string missing;
  const auto want = [&](bool there, const char* what) {
    if (!there) missing += (missing.empty() ? "" : ", ") + std::string(what);
  };
  if (qsrv1) {
    want(has_any({2, 3}), "puts to groups of QSRV 1");
    want(has_any({4, 5}), "failures of QSRV 1");
  }
  if (qsrv2) {
    want(has_any({7, 8}), "puts to groups of QSRV 2");
    want(has_any({9, 10}), "failures of QSRV 2");
  }
  return missing.empty() ? "" : "its files name no functions to hear of " + missing;
}

}  // namespace

std::span<const char* const> function_names(ServerProtocol protocol) {
  if (protocol == ServerProtocol::ca) return kCaFunctions;
  return iocs::Inspector::pva_put_functions();
}

ServerFunctions server_functions(const iocs::Ioc& ioc, ServerProtocol protocol) {
  if (ioc.kind != iocs::IocKind::base) return {};
  if (protocol == ServerProtocol::ca) return ca_functions(ioc);
  ServerFunctions functions{.is_served = ioc.serves_pva};
  if (!ioc.serves_pva) return functions;
  functions.missing = missing_of_pva(ioc);
  for (const iocs::PvaPutTarget& target : ioc.pva_puts)
    functions.found.push_back({target.function, target.offset, target.file, target.display_path});
  return functions;
}

}  // namespace ioc_exporter::ca
