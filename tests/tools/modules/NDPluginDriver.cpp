// libNDPlugin: frames of plugins. Of ADCore R3-14; the class of asyn that it stands on throws
// exceptions.
//
//   pluginFrames PORT OFFERED PROCESSED       so many frames are offered, so many of them processed
#include <cstring>
#include <stdexcept>

#include "shape.h"

struct asynUser;
class NDArray;

class asynPortDriver {
 public:
  explicit asynPortDriver(const char* name) : portName(strdup(name)) {
#ifdef IOC_EXPORTER_SHIFTED
    std::memset(&moved_by, 0x5a, sizeof moved_by);
#endif
  }
  virtual ~asynPortDriver() = default;
  KEPT int callParamCallbacks(int list, int addr);

  MOVED char* portName;
  int callbacks = 0;
};

class NDPluginDriver : public asynPortDriver {
 public:
  using asynPortDriver::asynPortDriver;
  KEPT void driverCallback(asynUser* user, void* array);
  KEPT void beginProcessCallbacks(NDArray* array);
};

int asynPortDriver::callParamCallbacks(int list, int addr) {
  ++callbacks;
  if (list < 0) throw std::runtime_error("no such list");
  return addr;
}

void NDPluginDriver::driverCallback(asynUser*, void* array) {
  try {
    callParamCallbacks(-1, 0);
  } catch (const std::exception&) {
    if (array != nullptr) beginProcessCallbacks(static_cast<NDArray*>(array));
  }
}

void NDPluginDriver::beginProcessCallbacks(NDArray*) {
  callParamCallbacks(0, 0);
}

namespace {

void frames(const iocshArgBuf* args) {
  auto* plugin = new NDPluginDriver(args[0].sval);
  for (int i = 0; i < args[1].ival; ++i)
    plugin->driverCallback(nullptr, i < args[2].ival ? plugin : nullptr);
}

}  // namespace

extern "C" void register_module() {
  add_command("pluginFrames", "sii", frames);
}
