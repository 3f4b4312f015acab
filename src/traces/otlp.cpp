#include "traces/otlp.h"

#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <protozero/pbf_reader.hpp>
#include <utility>

#include "base/utf8.h"
#include "exposition/label_text.h"

namespace ioc_exporter::traces::otlp {
namespace {

constexpr const char* kContentType = "application/x-protobuf";

// Of the messages that are written.
namespace in_both {
constexpr int kResource = 1, kScope = 1;
}
namespace resource {
constexpr int kAttributes = 1;
}
namespace scope {
constexpr int kName = 1, kVersion = 2;
}
namespace key_value {
constexpr int kKey = 1, kValue = 2;
}
namespace any_value {
constexpr int kString = 1, kBool = 2, kInt = 3, kDouble = 4;
}
// And of those that are read.
namespace response {
constexpr int kPartialSuccess = 1, kRejected = 1, kErrorMessage = 2;
}
namespace rpc_status {
constexpr int kMessage = 2;
}

// The answer's text or message at `field`; none: there is no such field.
std::optional<std::string_view> find(std::string_view message, int field) {
  protozero::pbf_reader reader(message.data(), message.size());
  if (!reader.next(static_cast<protozero::pbf_tag_type>(field),
                   protozero::pbf_wire_type::length_delimited))
    return std::nullopt;
  const auto view = reader.get_view();
  return std::string_view(view.data(), view.size());
}

bool is_protobuf(const Fetched& answer) {
  return answer.content_type.starts_with(kContentType);
}

// A request that was taken, but for some spans: which is not said.
void read_answer(const Fetched& answer, const std::string& where, delivery::Delivered& done) {
  if (!is_protobuf(answer)) return;
  try {
    const auto partial = find(answer.body, response::kPartialSuccess);
    if (!partial) return;
    protozero::pbf_reader reader(partial->data(), partial->size());
    if (!reader.next(response::kRejected, protozero::pbf_wire_type::varint)) return;
    const std::int64_t spans = reader.get_int64();
    if (spans <= 0) return;
    const std::string words(find(*partial, response::kErrorMessage).value_or(""));
    done.refused = static_cast<std::size_t>(
        std::min<std::uint64_t>(done.entries, static_cast<std::uint64_t>(spans)));
    done.entries -= done.refused;
    done.problem = error_in_words(where + ": " + std::to_string(spans) +
                                  " spans were refused: " + printable_utf8(words, 200));
    done.pause = std::chrono::milliseconds(0);
  } catch (const protozero::exception&) {  // it was taken all the same
  }
}

// Of a Status.
std::string words_of(const Fetched& answer) {
  if (!is_protobuf(answer)) return answer.body;
  try {
    return std::string(find(answer.body, rpc_status::kMessage).value_or(""));
  } catch (const protozero::exception&) {
    return "";
  }
}

// By the protocol another try helps with 429 and 502 to 504 only; a login or a proxy can be
// repaired, too, and so can what sends elsewhere.
bool is_refused(int status) {
  return status >= 400 && status != 401 && status != 403 && status != 408 && status != 429 &&
         !(status >= 502 && status <= 504);
}

}  // namespace

void add_text(Writer& to, int field, std::string_view text) {
  const std::string safe = exposition::utf8_safe(text);
  to.add_string(static_cast<protozero::pbf_tag_type>(field), safe);
}

void add_number(Writer& to, int field, std::uint64_t number) {
  to.add_fixed64(static_cast<protozero::pbf_tag_type>(field), number);
}

void add_attribute(Writer& to, int field, std::string_view name, const Scalar& value) {
  Writer pair = begin(to, field);
  add_text(pair, key_value::kKey, name);
  Writer out = begin(pair, key_value::kValue);
  if (const auto* text = std::get_if<std::string>(&value))
    add_text(out, any_value::kString, *text);
  else if (const auto* whole = std::get_if<std::int64_t>(&value))
    out.add_int64(any_value::kInt, *whole);
  else if (const auto* number = std::get_if<double>(&value))
    out.add_double(any_value::kDouble, *number);
  else
    out.add_bool(any_value::kBool, std::get<bool>(value));
}

Sender Sender::of_this_host(const std::string& version) {
  utsname host{};
  return {::uname(&host) == 0 ? host.nodename : "", version};
}

void add_resource(Writer& to, const Process& process, const Sender& sender) {
  Writer out = begin(to, in_both::kResource);
  const auto add = [&out](std::string_view name, Scalar value) {
    add_attribute(out, resource::kAttributes, name, value);
  };
  const auto& [ioc, pid] = process;
  add("service.name", ioc.empty() ? std::string(kUnknownService) : ioc);
  add("service.instance.id", sender.host + ":" + std::to_string(pid));
  add("host.name", sender.host);
  add("process.pid", std::int64_t{pid});
  add("telemetry.sdk.name", std::string("ioc_exporter"));
  add("telemetry.sdk.language", std::string("cpp"));
  add("telemetry.sdk.version", sender.version);
}

void add_scope(Writer& to, const Sender& sender) {
  Writer out = begin(to, in_both::kScope);
  add_text(out, scope::kName, "ioc_exporter");
  add_text(out, scope::kVersion, sender.version);
}

delivery::Delivered send(const delivery::HttpReceiver& receiver, const ByteBuffer& body,
                         std::size_t traces) {
  HttpPost post = receiver.post("/v1/traces", kContentType);
  post.body = body.view();
  const std::string where = "send traces to " + post.url;
  const auto read = [&](const Fetched& answer, delivery::Delivered& done) {
    read_answer(answer, where, done);
  };
  return delivery::push({std::move(post), traces, where, is_refused, read, words_of});
}

}  // namespace ioc_exporter::traces::otlp
