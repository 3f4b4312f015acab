// PV Access messages as bytes, in either byte order, for tests of the parser.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "shared/pva_header.h"

namespace ioc_exporter::testing {

class PvaBytes {
 public:
  using Bytes = std::vector<std::uint8_t>;
  using Channel = std::pair<std::uint32_t, std::string>;  // CID, name

  explicit PvaBytes(bool big) : big_(big) {}

  Bytes number(std::uint64_t value, unsigned size) const {
    Bytes bytes;
    for (unsigned i = 0; i < size; ++i)
      bytes.push_back(static_cast<std::uint8_t>(value >> 8 * (big_ ? size - 1 - i : i)));
    return bytes;
  }
  Bytes text(const std::string& value) const {
    Bytes bytes{static_cast<std::uint8_t>(value.size())};
    if (value.size() > 253) bytes = join({{254}, number(value.size(), 4)});
    bytes.insert(bytes.end(), value.begin(), value.end());
    return bytes;
  }
  static Bytes join(const std::vector<Bytes>& parts) {
    Bytes all;
    for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }
  // `flags`: more of them.
  Bytes message(bool to_server, std::uint32_t command, const Bytes& payload,
                std::uint32_t flags = 0) const {
    return join(
        {header(to_server, command, static_cast<std::uint32_t>(payload.size()), flags), payload});
  }
  Bytes header(bool to_server, std::uint32_t command, std::uint32_t size,
               std::uint32_t flags = 0) const {
    flags |= (big_ ? IOCX_PVA_BIG_ENDIAN : 0) | (to_server ? 0 : IOCX_PVA_FROM_SERVER);
    return join({{0xCA, 2, static_cast<std::uint8_t>(flags), static_cast<std::uint8_t>(command)},
                 number(size, 4)});
  }

  // Messages of a client.
  Bytes identify(const std::string& method, const Bytes& data = {0xFF}) const {
    return message(true, IOCX_PVA_CMD_CONNECTION_VALIDATION,
                   join({number(0x10000, 4), number(0x7FFF, 2), number(0, 2), text(method), data}));
  }
  Bytes user_and_host(const std::string& user, const std::string& host) const {
    return join({{0x80, 0, 2}, text("user"), {0x60}, text("host"), {0x60}, text(user), text(host)});
  }
  Bytes create(const std::vector<Channel>& channels) const {
    return message(true, IOCX_PVA_CMD_CREATE_CHANNEL, create_payload(channels));
  }
  Bytes create_payload(const std::vector<Channel>& channels) const {
    Bytes payload = number(channels.size(), 2);
    for (const auto& [cid, name] : channels) payload = join({payload, number(cid, 4), text(name)});
    return payload;
  }
  Bytes destroy(std::uint32_t sid, std::uint32_t cid) const {
    return message(true, IOCX_PVA_CMD_DESTROY_CHANNEL, join({number(sid, 4), number(cid, 4)}));
  }
  Bytes request(std::uint32_t command, std::uint32_t sid, std::uint32_t ioid, std::uint8_t sub,
                const Bytes& data = {}) const {
    return message(true, command, join({number(sid, 4), number(ioid, 4), {sub}, data}));
  }
  Bytes init(std::uint32_t command, std::uint32_t sid, std::uint32_t ioid) const {
    return request(command, sid, ioid, IOCX_PVA_SUB_INIT, {0x80, 0, 0});
  }
  Bytes put(std::uint32_t sid, std::uint32_t ioid, std::uint32_t command = IOCX_PVA_CMD_PUT) const {
    return request(command, sid, ioid, 0, join({{1, 2}, number(0x3FF8000000000000, 8)}));
  }
  Bytes end_request(std::uint32_t sid, std::uint32_t ioid) const {
    return message(true, IOCX_PVA_CMD_DESTROY_REQUEST, join({number(sid, 4), number(ioid, 4)}));
  }

  // Messages of a server.
  Bytes byte_order() const { return header(false, IOCX_PVA_SET_BYTE_ORDER, 0, IOCX_PVA_CONTROL); }
  Bytes offer() const {
    return message(
        false, IOCX_PVA_CMD_CONNECTION_VALIDATION,
        join({number(0x10000, 4), number(0x7FFF, 2), {2}, text("anonymous"), text("ca")}));
  }
  static Bytes ok() { return {0xFF}; }
  Bytes error(const std::string& words) const { return join({{2}, text(words), text("")}); }
  Bytes validated() const { return message(false, IOCX_PVA_CMD_CONNECTION_VALIDATED, ok()); }
  Bytes created(std::uint32_t cid, std::uint32_t sid, const Bytes& status = ok()) const {
    return message(false, IOCX_PVA_CMD_CREATE_CHANNEL,
                   join({number(cid, 4), number(sid, 4), status}));
  }
  Bytes destroyed(std::uint32_t sid, std::uint32_t cid) const {
    return message(false, IOCX_PVA_CMD_DESTROY_CHANNEL, join({number(sid, 4), number(cid, 4)}));
  }
  Bytes answer(std::uint32_t command, std::uint32_t ioid, std::uint8_t sub,
               const Bytes& status = ok(), const Bytes& data = {}) const {
    return message(false, command, join({number(ioid, 4), {sub}, status, data}));
  }

 private:
  bool big_;
};

}  // namespace ioc_exporter::testing
