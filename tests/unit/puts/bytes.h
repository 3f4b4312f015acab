// Channel Access messages as bytes, for tests of the parser and of the tap.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ioc_exporter::testing {

using Bytes = std::vector<std::uint8_t>;

inline void append_u16(Bytes& to, std::uint32_t value) {
  to.push_back(static_cast<std::uint8_t>(value >> 8));
  to.push_back(static_cast<std::uint8_t>(value));
}
inline void append_u32(Bytes& to, std::uint32_t value) {
  append_u16(to, value >> 16);
  append_u16(to, value & 0xFFFF);
}
inline Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
inline Bytes repeat(const Bytes& message, std::size_t times) {
  Bytes all;
  for (std::size_t i = 0; i < times; ++i) all.insert(all.end(), message.begin(), message.end());
  return all;
}

// The payload is padded to 8 bytes with zeros.
inline Bytes message(std::uint32_t command, std::uint32_t type, std::uint32_t count,
                     std::uint32_t parameter1, std::uint32_t parameter2, Bytes payload = {}) {
  payload.resize((payload.size() + 7) / 8 * 8);
  Bytes bytes;
  append_u16(bytes, command);
  append_u16(bytes, static_cast<std::uint32_t>(payload.size()));
  append_u16(bytes, type);
  append_u16(bytes, count);
  append_u32(bytes, parameter1);
  append_u32(bytes, parameter2);
  return bytes + payload;
}
inline Bytes long_message(std::uint32_t command, std::uint32_t type, std::uint32_t count,
                          std::uint32_t parameter1, std::uint32_t parameter2, Bytes payload = {}) {
  payload.resize((payload.size() + 7) / 8 * 8);
  Bytes bytes;
  append_u16(bytes, command);
  append_u16(bytes, 0xFFFF);
  append_u16(bytes, type);
  append_u16(bytes, 0);
  append_u32(bytes, parameter1);
  append_u32(bytes, parameter2);
  append_u32(bytes, static_cast<std::uint32_t>(payload.size()));
  append_u32(bytes, count);
  return bytes + payload;
}
inline Bytes text(const std::string& value) {
  Bytes bytes(value.begin(), value.end());
  bytes.push_back(0);
  return bytes;
}

// Messages of a client.
inline Bytes version() {
  return message(0, 0, 13, 0, 0);
}
inline Bytes host_name(const std::string& name) {
  return message(21, 0, 0, 0, 0, text(name));
}
inline Bytes client_name(const std::string& name) {
  return message(20, 0, 0, 0, 0, text(name));
}
inline Bytes create(std::uint32_t cid, const std::string& pv) {
  return message(18, 0, 0, cid, 13, text(pv));
}
inline Bytes write(std::uint32_t sid, std::uint32_t ioid = 0) {  // one double
  return message(4, 6, 1, sid, ioid, Bytes(8, 0x40));
}
inline Bytes write_notify(std::uint32_t sid, std::uint32_t ioid = 0) {  // one long
  return message(19, 5, 1, sid, ioid, Bytes{0, 0, 0, 7});
}
// As many reads of the channel as prove a client's boundaries.
inline Bytes proof(std::uint32_t sid) {
  return repeat(message(15, 6, 1, sid, 7), 16);
}
inline Bytes clear(std::uint32_t sid, std::uint32_t cid) {
  return message(12, 0, 0, sid, cid);
}
// Messages of a server.
inline Bytes created(std::uint32_t cid, std::uint32_t sid) {
  return message(22, 0, 0, cid, 3) + message(18, 6, 1, cid, sid);
}
inline Bytes access_rights(std::uint32_t cid, std::uint32_t bits) {
  return message(22, 0, 0, cid, bits);
}
inline Bytes written(std::uint32_t ioid, std::uint32_t status = 1) {
  return message(19, 5, 1, status, ioid);
}
// The answer to `request`, of which it repeats the header, as vsend_err() of rsrv writes it.
inline Bytes error(std::uint32_t cid, std::uint32_t status, const Bytes& request,
                   const std::string& context = "PV") {
  const std::size_t header = request[2] == 0xFF && request[3] == 0xFF ? 24 : 16;
  return message(11, 0, 0, cid, status,
                 Bytes(request.begin(), request.begin() + static_cast<std::ptrdiff_t>(header)) +
                     text(context));
}
inline Bytes cleared(std::uint32_t sid, std::uint32_t cid) {
  return message(12, 0, 0, sid, cid);
}
// A monitor of doubles, and one update of it.
inline Bytes subscribe(std::uint32_t sid, std::uint32_t id) {
  return message(1, 6, 1, sid, id, Bytes{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0});
}
inline Bytes unsubscribe(std::uint32_t sid, std::uint32_t id) {
  return message(2, 6, 1, sid, id);
}
inline Bytes update(std::uint32_t id) {
  return message(1, 6, 1, 1, id, Bytes(8, 0x40));
}
inline Bytes create_failed(std::uint32_t cid) {
  return message(26, 0, 0, cid, 0);
}
inline Bytes server_disconnect(std::uint32_t cid) {
  return message(27, 0, 0, cid, 0);
}

}  // namespace ioc_exporter::testing
