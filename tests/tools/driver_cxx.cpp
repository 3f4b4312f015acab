// The part of driver.h that is C++.
#include <stdexcept>

#include "tools/driver.h"

// A compiler that knows all callers may leave arguments out, and then calls the function otherwise.
#define PROBED __attribute__((noinline, noipa))

namespace {

volatile int work = 0;

}  // namespace

namespace driver {

class Port {
 public:
  PROBED void setValue(int value) { work = work + value; }
  PROBED void setValue(double value) { work = static_cast<int>(value); }
  PROBED int read(int number) {
    if (number % 2 == 0) throw std::runtime_error("nothing to read");
    return number + work;
  }
};

PROBED int read_twice(Port& port, int number) {
  const int first = port.read(number);
  work = work + 1;
  return first + port.read(number + 2);
}

}  // namespace driver

extern "C" void driver_set_value(int value) {
  driver::Port().setValue(value);
}

extern "C" void driver_set_real(double value) {
  driver::Port().setValue(value);
}

extern "C" int driver_throw(int number) {
  driver::Port port;
  try {
    return driver::read_twice(port, number) * 0;
  } catch (const std::runtime_error&) {
    return 1;
  }
}
