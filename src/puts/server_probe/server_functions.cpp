#include "puts/server_probe/server_functions.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "iocs/find/inspector.h"
#include "kernel/hit_cost.h"

namespace ioc_exporter::puts {
namespace {

constexpr std::array kCaFunctions{
    "write_action",       "write_notify_action",        "send_err",
    "dbProcessNotify",    "write_notify_done_callback", "dbNotifyCancel",
    "cas_send_bs_msg",    iocs::kInsideWrite,           iocs::kInsideWriteNotify,
    "putNotifyCompletion"};
constexpr std::uint32_t kInside = kCaFlush + 1;

// Of PV Access, after those of the Inspector: what begins and what cancels a put with callback.
constexpr std::array kPvaCallbacks{"dbProcessNotify", "dbNotifyCancel"};
// Behind these: the database writes a value, or the text of a link, which not all Bases have.
constexpr std::array kPvaWrites{"dbChannelPut", "dbParseLink"};

// Of iocs::Inspector::pva_put_functions().
enum PvaFunction : std::uint32_t {
  kPutOfQsrv1 = 0,  // two spellings each
  kGroupPutOfQsrv1 = 2,
  kEndOfQsrv1 = 4,
  kPutOfQsrv2 = 6,
  kGroupPutOfQsrv2 = 7,
  kErrorOfQsrv2 = 9,
  kDoneOfQsrv1 = 11,
  kDoneOfQsrv2 = 12,
  kReplyOfQsrv2 = 13,
  kPutCallbackOfQsrv1 = 14,
  kPutCallbackOfQsrv2 = 15
};

// Results of puts are counted where all functions are found: in the database's file, which has the
// server since Base 3.15.
ServerFunctions ca_functions(const iocs::Ioc& ioc) {
  ServerFunctions functions{.has_server = true};
  if (!ioc.ca_writes) {
    functions.missing =
        "its files name no functions write_action and write_notify_action, and they were not found "
        "by the server's table of commands";
    return functions;
  }
  const iocs::CaWriteTarget& writes = *ioc.ca_writes;
  const auto add = [&](std::uint32_t number, std::uint64_t offset) {
    functions.found.push_back({number, offset, writes.file, writes.display_path});
  };
  add(0, writes.write_action);
  add(1, writes.write_notify_action);
  if (!ioc.target || ioc.target->file != writes.file) return functions;
  const auto& known = ioc.target->functions;
  const auto has = [&](const char* name) { return known.contains(name); };
  const std::span all(kCaFunctions);
  functions.reports_results = std::ranges::all_of(all.subspan(2, kCaFlush - 2), has);
  if (!functions.reports_results) return functions;
  functions.reports_callbacks = std::ranges::all_of(all.subspan(kInside), has);
  for (std::uint32_t number = 2; number < all.size(); ++number)
    if (number < kCaFlush || (number == kCaFlush ? has(all[number]) : functions.reports_callbacks))
      add(number, known.at(all[number]).file_offset);
  return functions;
}

// Of iocs::Inspector::pva_put_functions().
bool has_any(const iocs::Ioc& ioc, std::initializer_list<std::uint32_t> functions) {
  return std::ranges::any_of(functions, [&](std::uint32_t wanted) {
    return std::ranges::find(ioc.pva_puts, wanted, &iocs::PvaPutTarget::function) !=
           ioc.pva_puts.end();
  });
}

// Where all that begins or ends a put with callback is found; and what is written, where all that
// has the database write is.
void add_pva_callbacks(const iocs::Ioc& ioc, ServerFunctions& functions) {
  const bool qsrv1 = has_any(ioc, {kPutOfQsrv1, kPutOfQsrv1 + 1});
  const bool qsrv2 = has_any(ioc, {kPutOfQsrv2});
  const auto has = [&](std::uint32_t of_qsrv1, std::uint32_t of_qsrv2) {
    return (!qsrv1 || has_any(ioc, {of_qsrv1})) && (!qsrv2 || has_any(ioc, {of_qsrv2}));
  };
  functions.reports_results = (!qsrv1 || has_any(ioc, {kEndOfQsrv1, kEndOfQsrv1 + 1})) &&
                              (!qsrv2 || (has_any(ioc, {kErrorOfQsrv2, kErrorOfQsrv2 + 1}) &&
                                          has_any(ioc, {kReplyOfQsrv2})));
  if (!ioc.target || (!qsrv1 && !qsrv2) || !has(kDoneOfQsrv1, kDoneOfQsrv2)) return;
  const auto& known = ioc.target->functions;
  std::size_t number = iocs::Inspector::pva_put_functions().size();
  const auto add = [&](const char* name) {
    if (const auto function = known.find(name); function != known.end())
      functions.found.push_back({static_cast<std::uint32_t>(number), function->second.file_offset,
                                 ioc.target->file, ioc.target->display_path});
    ++number;
  };
  if (!std::ranges::all_of(kPvaCallbacks, [&](const char* name) { return known.contains(name); }))
    return;
  std::ranges::for_each(kPvaCallbacks, add);
  functions.reports_callbacks = true;
  functions.reports_values =
      known.contains(kPvaWrites[0]) && has(kPutCallbackOfQsrv1, kPutCallbackOfQsrv2);
  if (functions.reports_values) std::ranges::for_each(kPvaWrites, add);
}

// Each of iocs::Inspector::pva_put_functions() in all its spellings.
std::string missing_of_pva(const iocs::Ioc& ioc) {
  const auto has_any = [&](std::initializer_list<std::uint32_t> functions) {
    return puts::has_any(ioc, functions);
  };
  const bool qsrv1 = has_any({kPutOfQsrv1, kPutOfQsrv1 + 1});
  const bool qsrv2 = has_any({kPutOfQsrv2});
  if (!qsrv1 && !qsrv2)
    return "its files name no functions of QSRV that a put enters (stripped, or of a version that "
           "is not known?)";
  std::string missing;
  const auto want = [&](bool there, const char* what) {
    if (!there) missing += (missing.empty() ? "" : ", ") + std::string(what);
  };
  if (qsrv1) {
    want(has_any({kGroupPutOfQsrv1, kGroupPutOfQsrv1 + 1}), "puts to groups of QSRV 1");
    want(has_any({kEndOfQsrv1, kEndOfQsrv1 + 1}), "failures of QSRV 1");
  }
  if (qsrv2) {
    want(has_any({kGroupPutOfQsrv2, kGroupPutOfQsrv2 + 1}), "puts to groups of QSRV 2");
    want(has_any({kErrorOfQsrv2, kErrorOfQsrv2 + 1}), "failures of QSRV 2");
  }
  return missing.empty() ? "" : "its files name no functions to hear of " + missing;
}

}  // namespace

bool is_for_put_log(std::uint32_t pva_function) {
  const std::size_t callbacks = iocs::Inspector::pva_put_functions().size();
  return pva_function == kPutCallbackOfQsrv1 || pva_function == kPutCallbackOfQsrv2 ||
         pva_function >= callbacks + kPvaCallbacks.size();
}

std::span<const char* const> function_names(Protocol protocol) {
  if (protocol == Protocol::ca) return kCaFunctions;
  static const auto kPvaFunctions = [] {
    const auto puts = iocs::Inspector::pva_put_functions();
    std::vector<const char*> all(puts.begin(), puts.end());
    all.insert(all.end(), kPvaCallbacks.begin(), kPvaCallbacks.end());
    all.insert(all.end(), kPvaWrites.begin(), kPvaWrites.end());
    return all;
  }();
  return kPvaFunctions;
}

ServerFunctions server_functions(const iocs::Ioc& ioc, Protocol protocol) {
  if (ioc.kind != iocs::IocKind::base) return {};
  if (protocol == Protocol::ca) return ca_functions(ioc);
  ServerFunctions functions{.has_server = ioc.serves_pva};
  if (!ioc.serves_pva) return functions;
  functions.missing = missing_of_pva(ioc);
  for (const iocs::PvaPutTarget& target : ioc.pva_puts)
    functions.found.push_back({target.function, target.offset, target.file, target.display_path});
  add_pva_callbacks(ioc, functions);
  return functions;
}

std::string stepped_functions(const iocs::Ioc& ioc) {
  std::string all;
  for (const Protocol protocol : {Protocol::ca, Protocol::pva})
    for (const ServerFunction& one : server_functions(ioc, protocol).found)
      if (one.file->entry(one.offset).stepped)
        all += (all.empty() ? "" : ", ") + std::string(function_names(protocol)[one.number]);
  return all;
}

double seconds_of_puts(const iocs::Ioc& ioc, Protocol protocol, std::uint64_t puts) {
  const kernel::HitCost cost = kernel::hit_cost();
  const auto functions = server_functions(ioc, protocol).found;
  const bool is_stepped =
      !functions.empty() && functions[0].file->entry(functions[0].offset).stepped;
  const double hit = is_stepped ? cost.stepped : cost.emulated;
  // The programs, in hits of an empty probe (docs/cost.md).
  const double put =
      protocol == Protocol::ca ? hit + 0.2 * cost.emulated : 2 * hit + 2.4 * cost.emulated;
  return static_cast<double>(puts) * put;
}

}  // namespace ioc_exporter::puts
