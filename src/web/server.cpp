#include "web/server.h"

#include <civetweb.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/rooted_fs.h"
#include "base/wall_clock.h"
#include "web/allowed_hosts.h"
#include "web/client_address.h"
#include "web/connection.h"
#include "web/listen_address.h"
#include "web/message.h"
#include "web/request_slots.h"

namespace ioc_exporter::web {
namespace {

// Connections that are served at a time, whoever makes them: one client with so many keeps all
// others out. Each takes a thread and some 40 KiB, a slow one for some six seconds, one that takes
// a large answer as slowly as it may (connection.cpp) for 30.
constexpr std::size_t kMostConnections = 400;
constexpr std::size_t kLeastSpareThreads = 4;        // beyond max_requests
constexpr const char* kWaitingConnections = "1024";  // in the kernel, for a free thread
// Connections that civetweb accepts before a thread is free: those beyond its threads.
constexpr std::size_t kAcceptedAhead = 4;
// Begin of civetweb's message about a failed handshake.
constexpr std::string_view kHandshakeFails[] = {"sslize error", "SSL syscall error"};
// Between two attempts to wake the server up for its end.
constexpr std::chrono::milliseconds kWakeInterval{20};

// An answer takes tens of megabytes where there are ten thousands of records, and any thread may be
// the one that makes it. glibc's heap of each such thread would keep that for the next time, to no
// use: from this size on memory comes from the kernel and goes back to it, and few threads share a
// heap.
constexpr int kGivenBackFrom = 1 << 20;  // bytes
constexpr int kHeaps = 2;

// Of the descriptors that the process may still open, connections take a quarter at most: what is
// read for a scrape needs some, however many connect.
std::size_t thread_count(std::size_t max_requests) {
  rlimit limit{};
  const auto open = RootedFs().list("/proc/self/fd");
  const bool known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && open;
  const std::size_t free = known ? limit.rlim_cur - std::min(limit.rlim_cur, open->size()) : 0;
  return std::max(std::min(free / 4, kMostConnections), max_requests + kLeastSpareThreads);
}

void give_memory_back() {
  ::mallopt(M_MMAP_THRESHOLD, kGivenBackFrom);
  ::mallopt(M_TRIM_THRESHOLD, kGivenBackFrom);
  ::mallopt(M_ARENA_MAX, kHeaps);
}

std::string join(const std::vector<std::string>& parts) {
  std::string joined;
  for (const std::string& part : parts) joined += (joined.empty() ? "" : ",") + part;
  return joined;
}

AllowedHosts allowed_hosts(const ServerOptions& options) {
  std::vector<std::string> names = options.allowed_hosts;
  for (const std::string& text : options.listen)
    if (const auto address = ListenAddress::parse(text)) names.push_back(address->host);
  return AllowedHosts(names);
}

// civetweb 1.15 writes the code of an error to a place of ours, later ones to their own.
[[maybe_unused]] void give_place(unsigned*& place, unsigned& ours) {
  place = &ours;
}
[[maybe_unused]] void give_place(unsigned&, unsigned&) {}

}  // namespace

struct Server::State {
  explicit State(ServerOptions given)
      : options(std::move(given)),
        threads(thread_count(options.max_requests)),
        slots(options.max_requests),
        hosts(allowed_hosts(options)) {}

  // The callbacks that civetweb calls from C: nothing is thrown out of them.
  static int on_request(mg_connection* connection) noexcept;
  static int on_log(const mg_connection* connection, const char* message) noexcept;
  static int first_tls(void** context, void* state) noexcept;
  static int tls_of_now(const char* domain, void** context, void* state) noexcept;

  void refuse_handshake(const mg_connection* connection, std::string_view why) const;
  bool is_free(const Request& request) const;
  Admission admit(const Request& request, bool has_place) const;
  Response respond(const Request& request, const std::string& user) const;
  bool may_act(const std::string& user) const;
  Response act(const Handler& action, const Request& request, const std::string& user) const;
  Response act_locally(const Handler& action, const Request& request,
                       const std::string& user) const;
  Response do_it(const Handler& action, const Request& request, const std::string& user) const;
  static Response call(const Handler& handler, const Request& request);
  void answer(mg_connection* connection);
  Result<void> start_civetweb(const std::vector<std::string>& listen);

  ServerOptions options;
  const std::size_t threads;
  RequestSlots slots;
  AllowedHosts hosts;
  std::shared_ptr<const Tls> first;  // given to civetweb at its start, unused afterwards
  mg_context* context = nullptr;
  std::string own_address;             // the first, in figures
  std::atomic<bool> stopping = false;  // streams end
  std::mutex log_mutex;
  bool starting = true;        // guarded by log_mutex
  std::string start_messages;  // civetweb's log during its start; guarded by log_mutex
};

// These must work when the host is in trouble.
bool Server::State::is_free(const Request& request) const {
  return options.unlimited.contains(request.path) || options.actions.contains(request.path);
}

Admission Server::State::admit(const Request& request, bool has_place) const {
  if (!options.unlimited.contains(request.path) && !hosts.allows(request.host))
    return {.refusal = refused(403, "host",
                               "this name is not one of the host's: give it to "
                               "--web.allowed-hosts")};
  if (!has_place)
    return {.refusal = refused(503, "requests",
                               "more requests at a time than --web.max-requests allows, of all or "
                               "of one client")};
  return options.admit ? options.admit(request) : Admission{};
}

Response Server::State::respond(const Request& request, const std::string& user) const {
  const auto action = options.actions.find(request.path);
  if (action != options.actions.end()) return act(action->second, request, user);
  const auto local = options.local_actions.find(request.path);
  const bool is_local = local != options.local_actions.end();
  if (is_local && request.method == "POST") return act_locally(local->second, request, user);
  if (request.method != "GET" && request.method != "HEAD")
    return not_allowed(request, is_local ? "GET, HEAD, POST" : "GET, HEAD");
  const auto route = options.routes.find(request.path);
  if (route == options.routes.end()) return plain(404, "404 nothing is served at this path");
  return call(route->second, request);
}

bool Server::State::may_act(const std::string& user) const {
  return options.action_users.empty() || options.action_users.contains(user);
}

Response Server::State::act(const Handler& action, const Request& request,
                            const std::string& user) const {
  if (request.method != "POST") return not_allowed(request, "POST");
  if (!request.origin.empty()) return not_for_pages();
  if (!may_act(user))
    return refused(403, "lifecycle_user", "--web.lifecycle-users does not name this user");
  return do_it(action, request, user);
}

Response Server::State::act_locally(const Handler& action, const Request& request,
                                    const std::string& user) const {
  if (!request.origin.empty()) return not_for_pages();
  const bool may = options.is_own(request.remote) || (!options.actions.empty() && may_act(user));
  if (!may)
    return refused(
        403, "not_local",
        "only who is on this host, or may use the paths of --web.enable-lifecycle, may ask "
        "for this");
  return do_it(action, request, user);
}

Response Server::State::do_it(const Handler& action, const Request& request,
                              const std::string& user) const {
  if (options.acted) options.acted(request, user);
  return call(action, request);
}

Response Server::State::call(const Handler& handler, const Request& request) {
  try {
    return handler(request);
  } catch (const std::exception& failure) {
    log::error("answer {} {}: {}", request.method, request.path, failure.what());
  } catch (...) {
    log::error("answer {} {}: unknown exception", request.method, request.path);
  }
  return plain(500, "500 the exporter failed to make this page, its log says why");
}

void Server::State::answer(mg_connection* connection) {
  const Request request = read_request(connection);
  drain_body(connection);
  std::optional<RequestSlots::Slot> slot;
  const bool known = !options.knows || options.knows(request);
  if (!known || !is_free(request)) slot.emplace(slots, request.remote, known);
  Admission admission = admit(request, !slot || slot->has_place());
  Response response =
      admission.refusal ? std::move(*admission.refusal) : respond(request, admission.user);
  if (response.stream) slot.reset();  // its followers are limited
  if (options.headers)
    for (auto& [name, value] : options.headers()) response.headers[name] = std::move(value);
  const char* refusal = response.refused;
  // A client that has its answer has its slot back.
  const bool taken =
      response.stream
          ? send_stream(connection, request, response, stopping) && response.stream->is_whole()
          : send_response(connection, request, std::move(response), options.response_timeout,
                          [&slot] { slot.reset(); });
  if (!taken) refusal = "not_taken";
  const bool was_refused = *refusal != '\0';
  if (was_refused && options.refused) options.refused(request, refusal);
  if (!was_refused && options.answered) options.answered(request);
}

int Server::State::on_request(mg_connection* connection) noexcept {
  try {
    static_cast<State*>(mg_get_user_data(mg_get_context(connection)))->answer(connection);
  } catch (const std::exception& failure) {  // ours: mostly out of memory
    try {
      log::error("answer an HTTP request: {}", failure.what());
    } catch (...) {
    }
  } catch (...) {
  }
  mg_disable_connection_keep_alive(connection);  // or civetweb reads what is left of a body
  return 200;                                    // handled: civetweb must not look for a file
}

int Server::State::on_log(const mg_connection* connection, const char* message) noexcept {
  try {
    const mg_context* context = mg_get_context(connection);
    auto* state = context ? static_cast<State*>(mg_get_user_data(context)) : nullptr;
    if (state) {
      const std::lock_guard lock(state->log_mutex);
      if (state->starting) {
        state->start_messages += (state->start_messages.empty() ? "" : "; ") + std::string(message);
        return 1;
      }
    }
    const auto begins = [&](std::string_view with) {
      return std::string_view(message).starts_with(with);
    };
    if (state && std::ranges::any_of(kHandshakeFails, begins)) {
      state->refuse_handshake(connection, message);
      return 1;
    }
    log::warn("HTTP server: {}", message);
  } catch (...) {
  }
  return 1;
}

// The client speaks no TLS, or has no valid certificate: there is no request.
void Server::State::refuse_handshake(const mg_connection* connection, std::string_view why) const {
  if (!options.refused) return;
  const mg_request_info* info = connection ? mg_get_request_info(connection) : nullptr;
  Request nothing{
      .method = "a TLS handshake", .path = {}, .query = {}, .accept = {}, .accept_encoding = {}};
  if (info) nothing.remote = plain_address(info->remote_addr);
  // "error:0A0000C7:SSL routines::peer did not return a certificate"
  nothing.path = "(" + std::string(why.substr(why.rfind(':') + 1)) + ")";
  options.refused(nothing, "tls_handshake");
}

// civetweb keeps this pointer, and does not free it.
int Server::State::first_tls(void** context, void* state) noexcept {
  const auto* self = static_cast<State*>(state);
  if (!self->first) return 0;
  *context = self->first->context();
  return 1;
}

// See third_party/patches/civetweb-1: for a connection, which takes the reference.
int Server::State::tls_of_now(const char*, void** context, void* state) noexcept {
  try {
    *context = static_cast<State*>(state)->options.tls()->take_context();
    return 1;
  } catch (...) {
    return -1;
  }
}

Result<void> Server::State::start_civetweb(const std::vector<std::string>& listen) {
  const std::string ports = join(listen);
  const std::string thread_text = std::to_string(threads);
  const std::string ahead = std::to_string(kAcceptedAhead);
  const std::string timeout = std::to_string(options.request_timeout.count());
  const char* settings[] = {"listening_ports",
                            ports.c_str(),
                            "num_threads",
                            thread_text.c_str(),
                            "connection_queue",
                            ahead.c_str(),
                            "request_timeout_ms",
                            timeout.c_str(),
                            "enable_keep_alive",
                            "no",
                            "listen_backlog",
                            kWaitingConnections,
                            "tcp_nodelay",
                            "1",
                            "enable_auth_domain_check",
                            "no",
                            nullptr};
  if (options.tls) first = options.tls();
  mg_callbacks callbacks{};
  callbacks.begin_request = on_request;
  callbacks.log_message = on_log;
  if (options.tls) {
    callbacks.external_ssl_ctx = first_tls;
    callbacks.external_ssl_ctx_domain = tls_of_now;
  }
  char text[256] = "";
  unsigned code = 0;
  mg_error_data error{};
  give_place(error.code, code);
  error.text = text;
  error.text_buffer_size = sizeof text;
  mg_init_data init{&callbacks, this, settings};
  context = mg_start2(&init, &error);
  const std::lock_guard lock(log_mutex);
  starting = false;
  if (context) return {};
  return error_in_words("start HTTP server on " + ports + ": " +
                        (start_messages.empty() ? std::string(text) : start_messages));
}

std::string http_library() {
  return std::string("civetweb ") + mg_version() +
         (civetweb_has_ipv6() ? ", IPv6, " : ", no IPv6, ") + Tls::library();
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Server>> Server::start(ServerOptions options) {
  if (options.listen.empty()) return error_in_words("start HTTP server: no listen address");
  give_memory_back();
  std::vector<ListenAddress> addresses;
  for (const std::string& text : options.listen) {
    auto address = ListenAddress::parse(text);
    if (!address) return std::move(address).error();
    addresses.push_back(std::move(*address));
  }
  auto names = try_listening(addresses);
  if (!names) return std::move(names).error();

  for (const ListenAddress& address : addresses)
    if (address.host.empty() && !civetweb_has_ipv6())
      log::info("listen on {}: IPv4 only, the civetweb library has no IPv6", address.text());

  if (options.tls)
    for (std::string& name : *names) name.append(1, 's');  // civetweb's mark of a port with TLS
  std::unique_ptr<Server> server(new Server(std::make_unique<State>(std::move(options))));
  auto started = server->state_->start_civetweb(*names);
  if (!started) return started.error();

  std::vector<mg_server_port> ports(addresses.size());
  const int known =
      mg_get_server_ports(server->state_->context, static_cast<int>(ports.size()), ports.data());
  if (known != static_cast<int>(addresses.size()))
    return error_in_words("start HTTP server: its ports are not known");
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    addresses[i].port = static_cast<std::uint16_t>(ports[i].port);
    server->ports_.push_back(addresses[i].port);
    server->addresses_.push_back(addresses[i].text());
  }
  server->state_->own_address = addresses.front().numeric;
  return server;
}

Server::~Server() {
  if (!state_->context) return;
  state_->stopping = true;
  if (ports_.empty()) {  // it is not known where it listens
    mg_stop(state_->context);
    return;
  }
  // civetweb looks at its stop flag once in 2 s while no client comes.
  const auto stopped = std::async(std::launch::async, mg_stop, state_->context);
  while (stopped.wait_for(kWakeInterval) != std::future_status::ready)
    (void)connect_to(state_->own_address, ports_.front(), kWakeInterval);
}

}  // namespace ioc_exporter::web
