// Memory that a process shares with those that it forks.
#pragma once

#include <sys/mman.h>

#include <memory>
#include <new>

namespace ioc_exporter {

template <class T>
struct Unmap {
  void operator()(T* object) const { ::munmap(object, sizeof *object); }
};
template <class T>
using SharedMemory = std::unique_ptr<T, Unmap<T>>;

// A T that needs no destructor, such as atomics.
template <class T>
SharedMemory<T> make_shared_memory() {
  void* const memory =
      ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return SharedMemory<T>(new (memory) T);
}

}  // namespace ioc_exporter
