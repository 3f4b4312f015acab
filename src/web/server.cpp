#include "web/server.h"

#include <civetweb.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "base/log.h"
#include "base/rooted_fs.h"
#include "base/wall_clock.h"
#include "web/allowed_hosts.h"
#include "web/connection.h"
#include "web/idle_connection_reaper.h"
#include "web/listen_address.h"
#include "web/message.h"
#include "web/own_sockets.h"
#include "web/request_slots.h"

namespace ioc_exporter::web {
namespace {

// Threads beyond max_requests. A connection that has not sent its request yet takes one, and some
// 20 KiB. In a crowd IdleConnectionReaper cuts such connections, so that few threads wait for them.
constexpr std::size_t kSpareThreads = 56;
constexpr std::size_t kLeastSpareThreads = 4;
constexpr const char* kWaitingConnections = "1024";  // in the kernel, for a free thread
// Connections that civetweb accepts before a thread is free: those beyond its threads.
constexpr std::size_t kAcceptedAhead = 4;
// Time that a connection without a request may stay while there is a crowd.
constexpr std::chrono::milliseconds kPatience{100};
// Answers that wait for their clients to take them, in bytes, beyond the first: a scrape of ten
// thousands of records is some ten megabytes, and a client may take 30 s for it.
constexpr std::size_t kMostPendingBytes = 256u << 20;
// Begin of civetweb's message about a failed handshake.
constexpr std::string_view kHandshakeFails[] = {"sslize error", "SSL syscall error"};
constexpr std::chrono::seconds kOwnHandshake{10};

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
  const std::size_t connections = free / 4, others = max_requests + kAcceptedAhead;
  return max_requests +
         std::clamp(connections - std::min(connections, others), kLeastSpareThreads, kSpareThreads);
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

// civetweb 1.15 looks at its stop flag once in 2 s (SOCKET_TIMEOUT_QUANTUM) while a socket is
// silent. Shutting its sockets down wakes all its threads.
void wake_sockets(const std::vector<std::uint16_t>& ports) {
  visit_own_sockets(ports, [](int fd) {
    ::shutdown(fd, SHUT_RDWR);
    return false;
  });
}

// Bytes of memory for this answer: of a body that several answers share, its part.
std::size_t own_part(const Response& response) {
  if (!response.shared_body) return response.body.size();
  const auto owners = static_cast<std::size_t>(std::max(1l, response.shared_body.use_count()));
  return response.shared_body->size() / owners;
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

Response too_many() {
  return refused(503, "requests",
                 "more requests at a time than --web.max-requests allows, of all or of one client");
}

}  // namespace

struct Server::State {
  explicit State(ServerOptions given)
      : options(std::move(given)),
        threads(thread_count(options.max_requests)),
        slots(options.max_requests),
        hosts(allowed_hosts(options)) {}

  // The callbacks that civetweb calls from C: nothing is thrown out of them.
  static int on_connection(const mg_connection* connection, void** data) noexcept;
  static int on_request(mg_connection* connection) noexcept;
  static void on_closed(const mg_connection* connection) noexcept;
  static int on_log(const mg_connection* connection, const char* message) noexcept;
  static int first_tls(void** context, void* state) noexcept;
  static int tls_of_now(const char* domain, void** context, void* state) noexcept;

  void refuse_handshake(const mg_connection* connection, std::string_view why) const;
  Response respond(const Request& request, const std::string& user);
  bool may_act(const std::string& user) const;
  Response act(const Handler& action, const Request& request, const std::string& user) const;
  Response act_locally(const Handler& action, const Request& request, const std::string& user);
  Response do_it(const Handler& action, const Request& request, const std::string& user) const;
  Response show(const Handler& handler, const Request& request, const std::string& holder);
  static Response call(const Handler& handler, const Request& request);
  void answer(mg_connection* connection);
  Result<void> start_civetweb(const std::vector<std::string>& listen);
  Result<void> shake_hands(const std::vector<ListenAddress>& addresses);

  ServerOptions options;
  const std::size_t threads;
  RequestSlots slots;
  AllowedHosts hosts;
  IdleConnectionReaper reaper{threads, kPatience};
  PendingAnswers pending{kMostPendingBytes,
                         [this](const PendingAnswers::Peer& peer) { reaper.cut(peer); }};
  std::shared_ptr<const Tls> first;         // given to civetweb at its start, unused afterwards
  std::atomic<bool> shaking_hands = false;  // with itself
  mg_context* context = nullptr;
  std::atomic<bool> stopping = false;  // streams end
  std::mutex log_mutex;
  bool starting = true;        // guarded by log_mutex
  std::string start_messages;  // civetweb's log during its start; guarded by log_mutex
};

Response Server::State::respond(const Request& request, const std::string& user) {
  const auto action = options.actions.find(request.path);
  if (action != options.actions.end()) return act(action->second, request, user);
  const auto local = options.local_actions.find(request.path);
  const bool is_local = local != options.local_actions.end();
  if (is_local && request.method == "POST") return act_locally(local->second, request, user);
  if (request.method != "GET" && request.method != "HEAD")
    return not_allowed(request, is_local ? "GET, HEAD, POST" : "GET, HEAD");
  const auto route = options.routes.find(request.path);
  if (route == options.routes.end()) return plain(404, "404 nothing is served at this path");
  if (options.unlimited.contains(request.path)) return call(route->second, request);
  return show(route->second, request, holder_of(request.remote, user));
}

Response Server::State::show(const Handler& handler, const Request& request,
                             const std::string& holder) {
  const auto kind = options.scrapes.contains(request.path) ? RequestSlots::Kind::scrape
                                                           : RequestSlots::Kind::page;
  const RequestSlots::Slot slot(slots, kind, holder);
  return slot.has_place() ? call(handler, request) : too_many();
}

bool Server::State::may_act(const std::string& user) const {
  return options.action_users.empty() || options.action_users.contains(user);
}

// Not limited: these actions must work when the host is in trouble.
Response Server::State::act(const Handler& action, const Request& request,
                            const std::string& user) const {
  if (request.method != "POST") return not_allowed(request, "POST");
  if (!request.origin.empty()) return not_for_pages();
  if (!may_act(user))
    return refused(403, "lifecycle_user", "--web.lifecycle-users does not name this user");
  return do_it(action, request, user);
}

// Limited as pages are, since such an action may take a while.
Response Server::State::act_locally(const Handler& action, const Request& request,
                                    const std::string& user) {
  if (!request.origin.empty()) return not_for_pages();
  const bool may = options.is_own(request.remote) || (!options.actions.empty() && may_act(user));
  if (!may)
    return refused(
        403, "not_local",
        "only who is on this host, or may use the paths of --web.enable-lifecycle, may ask "
        "for this");
  const RequestSlots::Slot slot(slots, RequestSlots::Kind::page, holder_of(request.remote, user));
  return slot.has_place() ? do_it(action, request, user) : too_many();
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
  // Before its turn: an unexpected request body is subject to the slow-sender timeout.
  drain_body(connection);
  const IdleConnectionReaper::Peer peer(request.remote, request.remote_port);
  const IdleConnectionReaper::Turn turn(reaper, peer);
  Admission admission;
  if (!options.unlimited.contains(request.path) && !hosts.allows(request.host))
    admission.refusal = refused(403, "host",
                                "this name is not one of the host's: give it to "
                                "--web.allowed-hosts");
  else if (options.admit)
    admission = options.admit(request);
  Response response =
      admission.refusal ? std::move(*admission.refusal) : respond(request, admission.user);
  const PendingAnswers::Answer taking(pending, holder_of(request.remote, admission.user), peer,
                                      own_part(response));
  if (!taking.has_room())
    response = refused(503, "answers", "too many clients have not taken their answers yet");
  response.close = reaper.is_there();
  if (options.headers)
    for (auto& [name, value] : options.headers()) response.headers[name] = std::move(value);
  const bool taken = response.stream
                         ? send_stream(connection, request, response, stopping)
                         : send_response(connection, request, response, options.response_timeout);
  if (!taken || (response.stream && !response.stream->is_whole())) response.refused = "not_taken";
  const bool was_refused = *response.refused != '\0';
  if (was_refused && options.refused) options.refused(request, response.refused);
  if (!was_refused && options.answered) options.answered(request);
}

// The connection's data marks it as counted, for its end.
int Server::State::on_connection(const mg_connection* connection, void** data) noexcept {
  try {
    auto* state = static_cast<State*>(mg_get_user_data(mg_get_context(connection)));
    *data = state;
    state->reaper.arrived();
  } catch (...) {  // then it waits like any other
  }
  return 0;
}

void Server::State::on_closed(const mg_connection* connection) noexcept {
  auto* state = static_cast<State*>(mg_get_user_connection_data(connection));
  if (state != nullptr) state->reaper.left();
}

int Server::State::on_request(mg_connection* connection) noexcept {
  try {
    static_cast<State*>(mg_get_user_data(mg_get_context(connection)))->answer(connection);
  } catch (const std::exception& failure) {  // ours: mostly out of memory
    mg_disable_connection_keep_alive(connection);
    try {
      log::error("answer an HTTP request: {}", failure.what());
    } catch (...) {
    }
  } catch (...) {
    mg_disable_connection_keep_alive(connection);
  }
  return 200;  // handled: civetweb must not look for a file
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
      if (!state->shaking_hands) state->refuse_handshake(connection, message);
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

// See third_party/patches/civetweb-2: for a connection, which takes the reference.
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
                            "yes",
                            "keep_alive_timeout_ms",
                            "1000",
                            "listen_backlog",
                            kWaitingConnections,
                            "tcp_nodelay",
                            "1",
                            "enable_auth_domain_check",
                            "no",
                            nullptr};
  if (options.tls) first = options.tls();
  mg_callbacks callbacks{};
  callbacks.init_connection = on_connection;
  callbacks.begin_request = on_request;
  callbacks.connection_close = on_closed;
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

// Only the first handshake shows whether civetweb and OpenSSL work together.
Result<void> Server::State::shake_hands(const std::vector<ListenAddress>& addresses) {
  if (!options.tls) return {};
  shaking_hands = true;
  for (const ListenAddress& address : addresses)
    if (auto works = try_handshake(address.numeric, address.port, kOwnHandshake); !works)
      return works;
  shaking_hands = false;
  return {};
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
  server->state_->reaper.start(server->ports_);
  if (auto works = server->state_->shake_hands(addresses); !works) return works.error();
  return server;
}

Server::~Server() {
  if (!state_->context) return;
  state_->stopping = true;
  state_->reaper.stop();
  wake_sockets(ports_);
  mg_stop(state_->context);
}

}  // namespace ioc_exporter::web
