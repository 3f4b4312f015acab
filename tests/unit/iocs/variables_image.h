// Variables of an IOC, in the test's own memory, to be read through /proc/self/mem.
#pragma once

#include "iocs/ioc.h"

namespace ioc_exporter::iocs {

template <class T>
std::uint64_t address_of(const T* object) {
  return reinterpret_cast<std::uintptr_t>(object);
}

class VariablesImage {
 public:
  // `variable` must outlive this; `size` is what the symbol table says.
  template <class T>
  void add(const std::string& name, const T& variable, std::uint64_t size = sizeof(T)) {
    places_[name].push_back({address_of(&variable), size});
  }
  void remove(const std::string& name) { places_.erase(name); }

  const iocs::VariablePlaces& places() const { return places_; }

 private:
  iocs::VariablePlaces places_;
};

}  // namespace ioc_exporter::iocs
