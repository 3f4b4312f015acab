#include "delivery/sink_options.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/command_line.h"
#include "base/value_text.h"
#include "base/yaml_reader.h"
#include "delivery/line_file.h"

namespace ioc_exporter::delivery {
namespace {

constexpr std::uint64_t kMostOld = 1000;

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

void read_receiver(Reader& item, ReceiverOptions& options) {
  item.set("tenant", text(options.tenant, [](const std::string& tenant) {
             return check_header(tenant, "name of a tenant");
           }));
  item.set("login_file", text(options.login_file));
  item.set("ca_file", text(options.ca_file, check_log_path));
  item.pairs("headers", [&](const Pair& header) {
    options.headers[header.name] = header.value;
    if (const auto good = check_pair(header.name, header.value); !good)
      item.complain("headers", good.error().message());
  });
}

}  // namespace

void read_sink(Reader& item, SinkOptions& options) {
  item.set("name", text(options.name));
  item.set("file", text(options.file, check_log_path));
  item.set("size", bytes(options.size));
  item.set("age", duration(options.age));
  item.set("count", whole_number(options.count, 0, kMostOld));
  read_receiver(item, options.receiver);
}

std::vector<OptionRow> file_rows(const std::string& section, const std::string& events,
                                 SinkOptions& options) {
  const std::string file = section + ".file";
  return {
      {"--" + file + "=FILE " + file,
       "File for " + events + ", lines of JSON; only the folder's owner may write to it",
       text(options.file, check_log_path)},
      {file + "_size=BYTES", "Size at which a new file begins", bytes(options.size)},
      {file + "_age=DURATION", "Age at which a new file begins; 0: none", duration(options.age)},
      {file + "_count=N", "Old files to keep, FILE.1 to FILE.N",
       whole_number(options.count, 0, kMostOld)}};
}

Result<HttpReceiver> open_receiver(const std::string& url, const ReceiverOptions& options) {
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
