#include "delivery/receiver_options.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/command_line.h"
#include "base/value_text.h"
#include "base/yaml_reader.h"
#include "delivery/log_file.h"

namespace ioc_exporter::delivery {
namespace {

// Letters, digits and dashes: no line of its own.
bool is_header_name(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    c = lower(c);
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

Result<void> check_pair(const std::string& name, const std::string& value) {
  if (!is_header_name(name)) return error_in_words(shown(name) + " is no name of a header");
  return check_header(value, "value of a header");
}

}  // namespace

std::string SinkNames::take(const std::string& wanted) {
  std::string name = wanted;
  for (unsigned number = 2; !taken_.insert(name).second; ++number)
    name = wanted + "-" + std::to_string(number);
  return name;
}

void read_receiver(Reader& item, ReceiverOptions& options) {
  item.check("tenant", [&](const std::string& text) {
    return check_header(options.tenant = text, "name of a tenant");
  });
  options.login_file = item.text("login_file").value_or("");
  item.check("ca_file",
             [&](const std::string& text) { return check_log_path(options.ca_file = text); });
  item.pairs("headers", [&](const Pair& header) {
    options.headers[header.name] = header.value;
    if (const auto good = check_pair(header.name, header.value); !good)
      item.complain("headers", good.error().message());
  });
}

Result<HttpReceiver> open_receiver(const std::string& log, const std::string& url,
                                   const ReceiverOptions& options) {
  if (url.starts_with("https://") && !TlsClient::is_there())
    return error_in_words(log + ": " + url +
                          ": this ioc_exporter does not speak TLS (that of a release does)");
  HttpReceiver receiver;
  receiver.url = url;
  auto login = read_login(options.login_file);
  if (!login) return std::move(login).error();
  receiver.as.login = std::move(*login);
  receiver.as.tls.authorities = options.ca_file;
  receiver.headers = options.headers;
  if (!options.tenant.empty()) receiver.headers["X-Scope-OrgID"] = options.tenant;
  return receiver;
}

}  // namespace ioc_exporter::delivery
