// What the messages of a PV Access circuit mean: its client, its channels, and its puts with their
// results. The reference for whatever counts puts from the messages.
//
// A put belongs to the channel of its request, as pvxs has it; the SID beside it is not looked at.
// Each name of a CREATE_CHANNEL is answered by its CID, in turn.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/pva_stream.h"

namespace ioc_exporter::puts {

struct PvaPuts {
  std::uint64_t sent = 0;
  std::uint64_t ok = 0;
  std::uint64_t failed = 0;  // the rest have no answer
  bool operator==(const PvaPuts&) const = default;
};

class PvaCircuit {
 public:
  using Key = std::tuple<std::string, std::string, std::string>;  // PV, user, op

  static PvaCircuit from_start() {
    return PvaCircuit(PvaStream::from_start(PvaDirection::to_server),
                      PvaStream::from_start(PvaDirection::to_client));
  }
  // What a client sends is given before what answers it.
  void feed(PvaDirection direction, std::span<const std::uint8_t> segment) {
    const bool to_server = direction == PvaDirection::to_server;
    for (const PvaEvent& event : (to_server ? to_server_ : to_client_).feed(segment))
      to_server ? on_request(event) : on_answer(event);
  }

  const std::map<Key, PvaPuts>& puts() const { return puts_; }
  std::uint64_t refused() const { return refused_; }  // streams that are not read any more

 private:
  struct Request {
    std::uint32_t sid = 0;
    std::uint32_t command = 0;
    bool last = false;  // it ends with its next answer
  };

  PvaCircuit(PvaStream to_server, PvaStream to_client)
      : to_server_(std::move(to_server)), to_client_(std::move(to_client)) {}

  void on_request(const PvaEvent& event) {
    switch (event.kind) {
      case IOCX_PVA_IDENTIFY:
        user_ = event.user;
        break;
      case IOCX_PVA_CREATE:
        asked_[event.id].push_back(event.text);
        break;
      case IOCX_PVA_DESTROY:
        end_channel(event.id);
        break;
      case IOCX_PVA_INIT:
        requests_.insert({event.other, {event.id, event.command}});
        break;
      case IOCX_PVA_PUT:
        on_put(event);
        [[fallthrough]];
      case IOCX_PVA_ASK:
        if (const auto request = requests_.find(event.other);
            request != requests_.end() && event.sub & IOCX_PVA_SUB_DESTROY &&
            request->second.command == event.command)
          request->second.last = true;
        if (event.command == IOCX_PVA_CMD_MONITOR && event.sub & IOCX_PVA_SUB_DESTROY)
          requests_.erase(event.other);
        break;
      case IOCX_PVA_END_REQUEST:
        requests_.erase(event.other);
        waiting_.erase(event.other);
        break;
      default:
        on_trouble(event);
    }
  }

  void on_put(const PvaEvent& event) {
    const auto request = requests_.find(event.other);
    const auto channel =
        request == requests_.end() ? channels_.end() : channels_.find(request->second.sid);
    const char* const op = event.command == IOCX_PVA_CMD_PUT       ? "put"
                           : event.command == IOCX_PVA_CMD_PUT_GET ? "put_get"
                                                                   : "rpc";
    const Key key{channel == channels_.end() ? "" : channel->second.second, user_, op};
    ++puts_[key].sent;
    waiting_.insert_or_assign(event.other, key);
  }

  void on_answer(const PvaEvent& event) {
    switch (event.kind) {
      case IOCX_PVA_CREATED:
        on_created(event);
        break;
      case IOCX_PVA_DESTROY:
        end_channel(event.id);
        break;
      case IOCX_PVA_INITED:
        if (!event.ok) requests_.erase(event.other);
        break;
      case IOCX_PVA_ANSWER:
        on_result(event);
        break;
      default:
        on_trouble(event);
    }
  }

  void on_created(const PvaEvent& event) {
    const auto asked = asked_.find(event.id);
    if (asked == asked_.end()) return;
    const std::string name = asked->second.front();
    asked->second.pop_front();
    if (asked->second.empty()) asked_.erase(asked);
    if (event.ok) channels_.insert_or_assign(event.other, std::pair(event.id, name));
  }

  void on_result(const PvaEvent& event) {
    if (const auto put = waiting_.find(event.other);
        put != waiting_.end() && iocx_pva_is_put(event.command, event.sub)) {
      PvaPuts& puts = puts_[put->second];
      ++(event.ok ? puts.ok : puts.failed);
      waiting_.erase(put);
    }
    if (const auto request = requests_.find(event.other);
        request != requests_.end() && request->second.last)
      requests_.erase(request);
  }

  void on_trouble(const PvaEvent& event) {
    if (event.kind == IOCX_PVA_REFUSED_ALL) ++refused_;
  }

  void end_channel(std::uint32_t sid) {
    channels_.erase(sid);
    std::erase_if(requests_, [sid](const auto& one) { return one.second.sid == sid; });
  }

  PvaStream to_server_, to_client_;
  std::string user_;
  std::map<std::uint32_t, std::deque<std::string>> asked_;                   // by CID
  std::map<std::uint32_t, std::pair<std::uint32_t, std::string>> channels_;  // SID: CID, name
  std::map<std::uint32_t, Request> requests_;                                // by IOID
  std::map<std::uint32_t, Key> waiting_;  // puts without an answer, by IOID
  std::map<Key, PvaPuts> puts_;
  std::uint64_t refused_ = 0;
};

}  // namespace ioc_exporter::puts
