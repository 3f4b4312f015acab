// RequestSlots: how many pages are made at a time, and for whom. Scrapes have places of their own,
// which nobody takes by asking for pages, and of either kind one holder has half at most.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

namespace ioc_exporter::web {

class RequestSlots {
 public:
  enum class Kind { scrape, page };

  // `scrapes`: at a time; half as many pages beside them.
  explicit RequestSlots(std::size_t scrapes);

  // A place, while it is there. In any thread, as all of this.
  class Slot {
   public:
    Slot(RequestSlots& slots, Kind kind, const std::string& holder);
    ~Slot();
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

    bool has_place() const { return has_place_; }

   private:
    RequestSlots& slots_;
    const Kind kind_;
    const std::string holder_;
    bool has_place_;
  };

 private:
  struct Places {
    std::size_t most = 1, most_of_one = 1;
    std::size_t taken = 0;
    std::map<std::string, std::size_t> holders = {};
  };
  Places& places(Kind kind) { return kind == Kind::scrape ? scrapes_ : pages_; }

  std::mutex mutex_;
  Places scrapes_, pages_;
};

}  // namespace ioc_exporter::web
