#include "base/http_client.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <utility>

#include <absl/strings/match.h>
#include <re2/re2.h>

#include "base/curl_library.h"
#include "base/value_text.h"

namespace ioc_exporter {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxHead = 64 << 10, kMaxPostAnswer = 16 << 10;

// The static binary's OpenSSL is Debian's, and looks where Debian has them.
constexpr const char* kBundles[] = {"/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                    "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem"};

// Of this thread's exchange: by TLS, that nothing more comes. libcurl takes a connection that
// merely ends for that, too.
thread_local bool said_farewell = false;

const Result<CurlLibrary>& library() {
  static const Result<CurlLibrary> loaded = [] {
    auto curl = load_curl_library();
    if (curl && curl->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
      return Result<CurlLibrary>(error_in_words("start libcurl: no memory"));
    return curl;
  }();
  return loaded;
}

struct Url {
  std::string text, scheme, host, port;
};

Result<Url> parse_url(const std::string& text) {
  static const re2::RE2 form(
      R"((https?)://([^\x00-\x20\x7f/?#@:\[\]]+|\[[0-9A-Fa-f:.%]+\])(?::([0-9]+))?([/?#][^\x00-\x20\x7f]*)?)",
      re2::RE2::Latin1);
  Url url{.text = text, .scheme = {}, .host = {}, .port = {}};
  const bool whole = re2::RE2::FullMatch(text, form, &url.scheme, &url.host, &url.port);
  if (whole && url.port.empty()) url.port = url.scheme == "https" ? "443" : "80";
  if (whole && parse_whole_number(url.port, 1, 65'535)) return url;
  return error_in_words("read the URL \"" + text +
                        "\": not of the form http://HOST[:PORT][/PATH], without a password");
}

// One request and its answer.
class Exchange {
 public:
  static Result<std::unique_ptr<Exchange>> begin(const std::string& url_text, const FetchAs& as) {
    const auto& curl = library();
    if (!curl) return curl.error();
    auto url = parse_url(url_text);
    if (!url) return std::move(url).error();
    if (as.tls.certificate.empty() != as.tls.key.empty())
      return error_in_words("a certificate needs its key, and a key its certificate");
    std::unique_ptr<Exchange> exchange(new Exchange(*curl, std::move(*url)));
    if (exchange->handle_ == nullptr) return error_in_words("start libcurl: no memory");
    exchange->set_up(as);
    return exchange;
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() {
    curl_.cleanup(handle_);
    curl_.slist_free_all(headers_);
  }

  template <class Value>
  void set(CURLoption option, Value value) {
    curl_.setopt(handle_, option, value);
  }
  template <class Value = curl_off_t>
  Value get(CURLINFO what) {
    Value value{};
    curl_.getinfo(handle_, what, &value);
    return value;
  }
  void add_header(const std::string& line) {
    headers_ = curl_.slist_append(headers_, line.c_str());
  }
  void set_timeout(std::chrono::milliseconds timeout) {
    set(CURLOPT_TIMEOUT_MS, long{timeout.count()});
  }
  // Later bytes of the body are not read.
  void read_no_more_than(std::size_t most) { most_ = most; }
  void follow(const BodyReader& read, std::chrono::milliseconds silence) {
    read_ = &read;
    silence_ = silence;
    set(CURLOPT_NOPROGRESS, 0L);
  }

  Result<Fetched> run() {
    set(CURLOPT_HTTPHEADER, headers_);
    heard_at_ = Clock::now();
    const CURLcode code = curl_.perform(handle_);
    if (code != CURLE_OK && !(code == CURLE_WRITE_ERROR && has_enough_)) return problem(code);
    if (url_.scheme == "https" && !body_.empty() && !has_end_ && !has_enough_ && !said_farewell)
      why_ = "the connection ended before it did";
    if (!why_.empty()) return problem(code);
    const char* const type = get<const char*>(CURLINFO_CONTENT_TYPE);
    return Fetched{static_cast<int>(get<long>(CURLINFO_RESPONSE_CODE)), std::move(body_),
                   type == nullptr ? "" : type, std::chrono::seconds(get(CURLINFO_RETRY_AFTER))};
  }

 private:
  Exchange(const CurlLibrary& curl, Url url)
      : curl_(curl), url_(std::move(url)), handle_(curl.init()) {}

  void set_up(const FetchAs& as) {
    set(CURLOPT_ERRORBUFFER, words_);
    set(CURLOPT_URL, url_.text.c_str());
    set(CURLOPT_PATH_AS_IS, 1L);
#if LIBCURL_VERSION_NUM >= 0x075500
    set(CURLOPT_PROTOCOLS_STR, "http,https");
#else
    set(CURLOPT_PROTOCOLS, long{CURLPROTO_HTTP | CURLPROTO_HTTPS});
#endif
    set(CURLOPT_PROXY, "");
    set(CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
    set(CURLOPT_QUICK_EXIT, 1L);  // it does not wait for a thread that looks a name up
#endif
    set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
    for (const char* header : {"Connection: close", "Accept:", "Expect:"}) add_header(header);
    if (!as.login.empty()) set(CURLOPT_USERPWD, as.login.c_str());
    set_up_tls(as.tls);
    set(
        CURLOPT_HEADERFUNCTION, +[](char* line, std::size_t, std::size_t size, void* exchange) {
          return static_cast<Exchange*>(exchange)->take_head({line, size}) ? size : 0;
        });
    set(
        CURLOPT_WRITEFUNCTION, +[](char* bytes, std::size_t, std::size_t size, void* exchange) {
          return static_cast<Exchange*>(exchange)->take({bytes, size}) ? size : 0;
        });
    set(
        CURLOPT_XFERINFOFUNCTION,
        +[](void* exchange, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
          return static_cast<Exchange*>(exchange)->is_silent() ? 1 : 0;
        });
    for (const CURLoption data : {CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_XFERINFODATA})
      set(data, this);
  }

  void set_up_tls(const TlsClientFiles& files) {
    set(CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
    said_farewell = false;
    set(
        CURLOPT_SSL_CTX_FUNCTION, +[](CURL*, void* context, void* exchange) {
          static_cast<Exchange*>(exchange)->curl_.set_tls_info_callback(
              static_cast<SSL_CTX*>(context), [](const SSL*, int where, int alert) {
                said_farewell |=
                    where == SSL_CB_READ_ALERT && (alert & 0xff) == SSL_AD_CLOSE_NOTIFY;
              });
          return CURLE_OK;
        });
    set(CURLOPT_SSL_CTX_DATA, this);
    if (!files.authorities.empty()) {
      set(CURLOPT_CAINFO, files.authorities.c_str());
      set(CURLOPT_CAPATH, nullptr);  // nobody else
    } else {
      for (const char* bundle : kBundles)
        if (::access(bundle, R_OK) == 0) set(CURLOPT_CAINFO, bundle);
    }
    if (files.certificate.empty()) return;
    set(CURLOPT_SSLCERT, files.certificate.c_str());
    set(CURLOPT_SSLKEY, files.key.c_str());
    set(CURLOPT_KEYPASSWD, "");  // there is no user to ask for it
  }

  bool take_head(std::string_view line) {
    heard_at_ = Clock::now();
    head_ += line.size();
    for (const char* name : {"content-length:", "transfer-encoding:"})
      has_end_ |= absl::StartsWithIgnoreCase({line.data(), line.size()}, name);
    return head_ <= kMaxHead;
  }

  // libcurl is C: no exception may pass through it.
  bool take(std::string_view bytes) noexcept try {
    heard_at_ = Clock::now();
    if (read_ != nullptr && get<long>(CURLINFO_RESPONSE_CODE) == 200) {
      has_enough_ = !(*read_)(bytes);
    } else {
      body_.append(bytes.substr(0, most_ - body_.size()));
      has_enough_ = body_.size() == most_;
    }
    return !has_enough_ && body_.size() <= kLongest;
  } catch (const std::exception& failure) {
    why_ = failure.what();
    return false;
  }

  bool is_silent() const {
    return Clock::now() - heard_at_ > silence_;
  }

  Error problem(CURLcode code) {
    const std::string place = url_.host + " port " + url_.port;
    const bool is_found = get(CURLINFO_NAMELOOKUP_TIME_T) > 0,
               is_connected = get(CURLINFO_CONNECT_TIME_T) > 0,
               is_ready = get(CURLINFO_PRETRANSFER_TIME_T) > 0;
    const std::string action = code == CURLE_PEER_FAILED_VERIFICATION
                                   ? "believe the certificate of " + url_.host
                               : !is_found                ? "find the host " + url_.host
                               : !is_connected            ? "connect to " + place
                               : !is_ready                ? "shake hands with " + place
                               : code == CURLE_SEND_ERROR ? "send the request to " + place
                                                          : "read the answer of " + place;
    if (code == CURLE_OPERATION_TIMEDOUT || code == CURLE_ABORTED_BY_CALLBACK)
      return error_from_errno(ETIMEDOUT, action);
    const auto error = static_cast<int>(get<long>(CURLINFO_OS_ERRNO));
    if (code == CURLE_COULDNT_CONNECT && error != 0) return error_from_errno(error, action);
    return error_in_words(action + ": " +
                          (head_ > kMaxHead          ? "its head is longer than 64 KiB"
                           : body_.size() > kLongest ? "it is longer than " + bytes_text(kLongest)
                           : !why_.empty()           ? why_
                           : words_[0] != '\0'       ? words_
                                                     : curl_.strerror(code)));
  }

  const CurlLibrary& curl_;
  const Url url_;
  CURL* const handle_;
  curl_slist* headers_ = nullptr;
  char words_[CURL_ERROR_SIZE] = "";

  const BodyReader* read_ = nullptr;
  std::chrono::milliseconds silence_{};
  Clock::time_point heard_at_{};
  static constexpr std::size_t kLongest = 64u << 20;
  std::size_t most_ = SIZE_MAX, head_ = 0;
  std::string body_;
  bool has_end_ = false, has_enough_ = false;  // its answer says where it ends
  std::string why_;                            // of the reader that gave up
};

}  // namespace

Result<void> prepare_http_client() {
  return library() ? Result<void>() : library().error();
}

Result<Fetched> fetch(const std::string& url, std::chrono::milliseconds timeout,
                      const FetchAs& as) {
  auto exchange = Exchange::begin(url, as);
  if (!exchange) return std::move(exchange).error();
  (*exchange)->set_timeout(timeout);
  return (*exchange)->run();
}

Result<Fetched> send_post(const HttpPost& post, std::chrono::milliseconds timeout) {
  auto exchange = Exchange::begin(post.url, post.as);
  if (!exchange) return std::move(exchange).error();
  Exchange& request = **exchange;
  request.set_timeout(timeout);
  request.read_no_more_than(kMaxPostAnswer);
  request.set(CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t{std::ssize(post.body)});
  request.set(CURLOPT_POSTFIELDS, post.body.c_str());
  request.add_header("Content-Type: " + post.content_type);
  for (const auto& [name, value] : post.headers)  // libcurl has a way of its own to say none
    request.add_header(value.empty() ? name + ";" : name + ": " + value);
  return request.run();
}

Result<Fetched> follow(const std::string& url, const BodyReader& read,
                       std::chrono::milliseconds silence, const FetchAs& as) {
  auto exchange = Exchange::begin(url, as);
  if (!exchange) return std::move(exchange).error();
  (*exchange)->follow(read, silence);
  return (*exchange)->run();
}

Result<UniqueFd> connect_tcp(const std::string& host, const std::string& port,
                             std::chrono::milliseconds timeout) {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  auto exchange = Exchange::begin("http://" + (is_ipv6 ? "[" + host + "]" : host) + ":" + port, {});
  if (!exchange) return std::move(exchange).error();
  (*exchange)->set(CURLOPT_CONNECT_ONLY, 1L);
  (*exchange)->set_timeout(timeout);
  if (auto connected = (*exchange)->run(); !connected) return std::move(connected).error();
  UniqueFd own(::fcntl((*exchange)->get<curl_socket_t>(CURLINFO_ACTIVESOCKET), F_DUPFD_CLOEXEC, 0));
  if (!own) return last_error("connect to " + host + " port " + port);
  return own;
}

}  // namespace ioc_exporter
