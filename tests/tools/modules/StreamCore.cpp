// libstream: exchanges of records. Of StreamDevice 2.8.26, src/StreamCore.cc and StreamEpics.cc.
//
//   streamExchanges RECORD COUNT RESULT USECS     starts and finishes so many; RESULT as in
//   ProtocolResult
#include <cstring>

#include "shape.h"

struct StreamProtocolParser {
  struct Client {
    virtual ~Client() = default;
  };
};
struct StreamBusInterface {
  struct Client {
    virtual ~Client() = default;
  };
};

class StreamCore : public StreamProtocolParser::Client, public StreamBusInterface::Client {
 public:
  enum ProtocolResult { Success, LockTimeout, WriteTimeout, ReplyTimeout, ReadTimeout, ScanError };
  enum StartMode { StartNormal, StartInit, StartAsync };

  explicit StreamCore(const char* name) : streamname(strdup(name)) {
#ifdef IOC_EXPORTER_SHIFTED
    std::memset(&moved_by, 0x5a, sizeof moved_by);
#endif
  }
  // As in the module, these may throw as far as a compiler knows.
  KEPT bool startProtocol(StartMode mode);
  KEPT void finishProtocol(ProtocolResult result);
  virtual void protocolFinishHook(ProtocolResult result);

  MOVED void* bus = nullptr;
  StreamCore* next = nullptr;
  char* streamname;
  unsigned long flags = 0;
  ProtocolResult running_handler = Success;
};

class Stream : public StreamCore {
 public:
  using StreamCore::StreamCore;
  KEPT void protocolFinishHook(ProtocolResult result) override;

  ProtocolResult last = Success;
};

bool StreamCore::startProtocol(StartMode mode) {
  flags |= static_cast<unsigned long>(mode) + 1;
  running_handler = Success;
  return true;
}

// Errors of the exchange itself have a handler, which is often empty: it ends at once, with
// success.
void StreamCore::finishProtocol(ProtocolResult result) {
  if (running_handler != Success) {
    if (result == Success) result = running_handler;
  } else {
    running_handler = result;
    if (result >= WriteTimeout && result <= ScanError) {
      finishProtocol(Success);
      return;
    }
  }
  protocolFinishHook(result);
}

void StreamCore::protocolFinishHook(ProtocolResult) {}

void Stream::protocolFinishHook(ProtocolResult result) {
  last = result;
}

namespace {

void exchange(const iocshArgBuf* args) {
  auto* stream = new Stream(args[0].sval);
  for (int i = 0; i < args[1].ival; ++i) {
    stream->startProtocol(StreamCore::StartNormal);
    if (args[3].ival != 0) module_pause(args[3].ival);
    stream->finishProtocol(static_cast<StreamCore::ProtocolResult>(args[2].ival));
  }
}

}  // namespace

extern "C" void register_module() {
  add_command("streamExchanges", "siii", exchange);
}
