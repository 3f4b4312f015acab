// Record support in C++ that does not come back to its dbProcess: functions for sub records, and
// shell commands that process a record where such a thing is caught.
//
//   throw_inside, jump_inside, exit_inside, cancel_inside    for SNAM: by an exception, longjmp(),
//   pthread_exit(),
//                                                            pthread_cancel(); while field B is not
//                                                            0 they return
//   processWithJump RECORD        processes it where jump_inside leads to
//   processInThread RECORD        processes it in a thread of its own, and waits for its end
//
// An exception is caught by iocsh: dbpf, dbtr.
#include <dbAccess.h>
#include <dbLock.h>
#include <pthread.h>
#include <registryFunction.h>
#include <subRecord.h>

#include <csetjmp>
#include <stdexcept>

#include "ioc_commands.h"
#include "shell_command.h"

namespace {

std::jmp_buf landing;

long throw_inside(subRecord* record) {
  if (record->b != 0) return 0;
  throw std::runtime_error("device support gives up");
}

long jump_inside(subRecord* record) {
  if (record->b == 0) std::longjmp(landing, 1);
  return 0;
}

long exit_inside(subRecord* record) {
  if (record->b == 0) pthread_exit(nullptr);
  return 0;
}

long cancel_inside(subRecord* record) {
  if (record->b != 0) return 0;
  pthread_cancel(pthread_self());
  pthread_testcancel();
  return 0;
}

void unlock(void* record) {
  dbScanUnlock(static_cast<dbCommon*>(record));
}

void process(const char* name) {
  DBADDR address;
  if (dbNameToAddr(name, &address) != 0) return;
  dbScanLock(address.precord);
  dbProcess(address.precord);
  dbScanUnlock(address.precord);
}

// As a thread does that is made to be cancelled.
void* process_in_thread(void* name) {
  DBADDR address;
  if (dbNameToAddr(static_cast<const char*>(name), &address) != 0) return nullptr;
  dbScanLock(address.precord);
  pthread_cleanup_push(unlock, address.precord);
  dbProcess(address.precord);
  pthread_cleanup_pop(1);
  return nullptr;
}

void with_jump(const iocshArgBuf* args) {
  if (setjmp(landing) == 0) process(args[0].sval);
}

void in_thread(const iocshArgBuf* args) {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, process_in_thread, args[0].sval) == 0)
    pthread_join(thread, nullptr);
}

long call(long (*function)(subRecord*), const char* name) {
  return registryFunctionAdd(name, reinterpret_cast<REGISTRYFUNCTION>(function));
}

}  // namespace

extern "C" void register_leaving_support(void) {
  add_command("processWithJump", "s", with_jump);
  add_command("processInThread", "s", in_thread);
  call(throw_inside, "throw_inside");
  call(jump_inside, "jump_inside");
  call(exit_inside, "exit_inside");
  call(cancel_inside, "cancel_inside");
}
