// CaPutLedger: what the two witnesses of puts say, channel by channel: the tap, which reads what
// travels, and the IOC's server itself (ca/witness.h). Decides whose count is taken, and what they
// disagree about. Pure: no system calls.
//
// - While an IOC is witnessed, its server's word counts. What the tap sees of it is only compared.
// - A put travels before it is served. So a channel that had puts shortly before begin() goes on
//   with the tap's count until both have seen nothing for kQuiet: then nothing is under way, and
//   the server's word takes over without a gap and without counting anything twice.
// - At end() the tap takes over. What it has seen and the server was not asked for yet is handed
//   over, to be counted.
// - What the server was asked for and the tap has not seen when the channel is quiet is `unseen`.
//   What the tap saw and the server was not asked for is `invented`, after kPatience: a server may
//   be held up by the put before. When it is asked after all, that is no disagreement. What the
//   server threw away, and said so, is neither.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "ca/put_totals.h"

namespace ioc_exporter::ca {

// One client's connection, and the SID that it writes to.
struct CaPutPlace {
  std::uint32_t ioc = 0;  // as CaPutLabels::ioc
  std::uint32_t sid = 0;
  std::array<std::uint8_t, 16> address{};  // of the client, as iocx_ca_address
  std::uint16_t port = 0;
  bool operator==(const CaPutPlace&) const = default;
};
struct CaPutPlaceHash {
  std::size_t operator()(const CaPutPlace& place) const noexcept;
};

// Who put to what, as the put log asks.
struct CaPutIdentity {
  CaPutLabels labels;
  CaPutPlace place;
};

struct CaDisagreement {
  struct Who {
    std::uint32_t ioc = 0;
    std::string client, user, host;
    auto operator<=>(const Who&) const = default;
  };
  Who who;
  std::uint64_t unseen = 0, invented = 0;
};

class CaPutLedger {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kQuiet{2};
  static constexpr std::chrono::seconds kPatience{15};
  // A channel that is never quiet is the server's after this all the same.
  static constexpr std::chrono::seconds kLongestSettling{60};
  // For so long after begin(), the tap may still be finding the messages of old connections.
  static constexpr std::chrono::seconds kFindingMessages{30};
  static constexpr std::size_t kMostPlaces = 262'144;
  static constexpr std::size_t kMostDisagreements = 1000;

  // A channel that the tap has seen puts on before begin(), and when the last one.
  struct Before {
    CaPutPlace place;
    Clock::time_point last;
  };
  // What is the tap's to count, after end().
  struct Owed {
    CaPutPlace place;
    CaPuts puts{};
    CaDisagreement::Who who;
  };

  // The IOC's server is heard from now on. `before`: all that the tap has seen; what tap_saw() is
  // told from now on came after it. `connections` that there are: their SIDs do not matter.
  void begin(std::uint32_t ioc, const std::vector<Before>& before,
             const std::vector<CaPutPlace>& connections, Clock::time_point now);
  // The port of its CA server, once it is known: what is sent to another one is not its server's.
  void set_port(std::uint32_t ioc, std::uint16_t port);
  // The last that the server says and all that the tap has seen were told.
  std::vector<Owed> end(std::uint32_t ioc);
  bool is_witnessed(std::uint32_t ioc) const { return witnessed_.contains(ioc); }
  bool is_witnessed(std::uint32_t ioc, std::uint16_t port) const;

  // What the tap has seen since it was asked last. `held`: it does not count yet.
  void tap_saw(const CaPutPlace& place, const CaPuts& growth, const CaPutLabels* labels, bool held,
               Clock::time_point now);
  // What the server was asked for; true: it counts.
  bool server_saw(const CaPutPlace& place, const CaPuts& growth, const CaPutLabels& labels,
                  Clock::time_point now);
  // The server has said that it threw away so many of what the tap has seen, or will see: it could
  // not hold them. They are neither unseen nor invented.
  void server_refused(const CaPutPlace& place, std::uint64_t growth, Clock::time_point now);
  // Whether what the tap sees there counts.
  bool tap_counts(const CaPutPlace& place) const;
  // Compares what is quiet. After both were told all.
  void look(Clock::time_point now);
  // The comparison of this IOC begins anew: the server did not say who put.
  void pass_over(std::uint32_t ioc);

  std::vector<CaDisagreement> disagreements() const;
  void forget(std::uint32_t ioc);
  // Puts by which a count may be wrong: their channels were never quiet while the server's word
  // took over.
  std::uint64_t unsettled() const { return unsettled_; }
  std::size_t places() const { return entries_.size(); }

 private:
  struct Entry {
    CaPuts tap{}, server{};
    std::uint64_t refused = 0;  // of the tap's
    Clock::time_point changed;
    bool settling = false;  // still with the tap's count
    bool is_old = false;
    std::uint64_t declared = 0;  // invented, as we have said
    CaDisagreement::Who who;

    // What the tap saw that the server was asked for.
    std::uint64_t seen() const;
    void agree();
  };
  using Entries = std::unordered_map<CaPutPlace, Entry, CaPutPlaceHash>;
  struct Connection {
    std::array<std::uint8_t, 16> address;
    std::uint16_t port;
    auto operator<=>(const Connection&) const = default;
  };
  struct Witnessed {
    Clock::time_point since;
    std::uint16_t port = 0;    // 0: not known
    std::set<Connection> old;  // that were there
  };

  Entry* find_or_add(const CaPutPlace& place);
  bool is_done(const CaPutPlace& place, Entry& entry, Clock::time_point now);
  void compare(const CaPutPlace& place, Entry& entry, Clock::time_point now);
  void disagree(const CaDisagreement::Who& who, std::uint64_t unseen, std::uint64_t invented);

  std::map<std::uint32_t, Witnessed> witnessed_;
  Entries entries_;
  std::map<CaDisagreement::Who, CaDisagreement> disagreements_;
  std::uint64_t unsettled_ = 0;
};

}  // namespace ioc_exporter::ca
