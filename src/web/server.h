// Server: civetweb with a table of routes. It serves no files; GET and HEAD, and POST where
// something is to be done.
//
// Bodies of 1 KiB and more are compressed when the client asks for it. A thread serves one
// connection at a time, so each is closed after its answer: a client that connects again costs less
// than a thread that waits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "web/client_address.h"
#include "web/message.h"
#include "web/tls.h"

namespace ioc_exporter::web {

struct ServerOptions {
  std::vector<std::string> listen = {":10064"};        // see ListenAddress::parse
  std::map<std::string, Handler, std::less<>> routes;  // by exact path
  // Answered to POST only, and not to a browser: what is done must not depend on which page
  // somebody looks at.
  std::map<std::string, Handler, std::less<>> actions;
  // The same, also without --web.enable-lifecycle: done for clients on this host, and for users who
  // may do the actions. A route may have the same path, for GET.
  std::map<std::string, Handler, std::less<>> local_actions;
  // Whether an address, as Request::remote has it, is this host's.
  std::function<bool(const std::string&)> is_own = is_own_address;
  // Routes that cost nothing and show nothing of the host: they need no slot, and may be asked for
  // under any name.
  std::set<std::string, std::less<>> unlimited;
  // Users who may do the actions; none: all users.
  std::set<std::string, std::less<>> action_users;
  // Names by which it may be asked, beside addresses, names of one label and those of `listen`.
  std::vector<std::string> allowed_hosts;
  // Asked before anything is done. Empty: all are let in.
  std::function<Admission(const Request&)> admit;
  // Whether `admit` answers at once, without the check of a password. Empty: it does.
  std::function<bool(const Request&)> knows;
  // Of every answer; "" takes one of the server's own away.
  std::function<std::map<std::string, std::string>()> headers;
  // Called after each answer that was no refusal.
  std::function<void(const Request&)> answered;
  // Called for each request that is refused, with Response::refused, and with "not_taken" where the
  // client did not take its answer.
  std::function<void(const Request&, const std::string& reason)> refused;
  // Called before an action is done; `user`: its user, "" = unknown.
  std::function<void(const Request&, const std::string& user)> acted;
  // With which TLS a connection that begins is served; never nothing. Empty: HTTP without.
  std::function<std::shared_ptr<const Tls>()> tls;
  std::size_t max_requests = 8;                        // at a time, see RequestSlots
  std::chrono::milliseconds request_timeout{3'000};    // for a client to send its request
  std::chrono::milliseconds response_timeout{30'000};  // for a client to take the answer
};

// Version of civetweb, and its protocols besides HTTP: "civetweb 1.16, IPv6, TLS by
// OpenSSL 3.0.19".
std::string http_library();

class Server {
 public:
  // Listens when it returns. Errors: a bad address, "listen on ADDRESS: cause", no threads.
  static Result<std::unique_ptr<Server>> start(ServerOptions options);
  // Cuts all connections and waits for the handlers that run.
  ~Server();

  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // As given, with the real port where 0 was asked for.
  const std::vector<std::string>& addresses() const { return addresses_; }
  // Of the first address.
  std::uint16_t port() const { return ports_.front(); }

 private:
  struct State;

  explicit Server(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
  std::vector<std::string> addresses_;
  std::vector<std::uint16_t> ports_;
};

}  // namespace ioc_exporter::web
