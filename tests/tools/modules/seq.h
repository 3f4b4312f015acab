/* Structs of seq 2.2.9, as far as they matter. */
#ifndef SEQ_H
#define SEQ_H

#include "shape.h"

typedef struct state_set SSCB;

typedef struct {
  MOVED const char* stateName;
  void (*actionFunc)(SSCB*, int, int*);
  void *eventFunc, *entryFunc, *exitFunc;
  const unsigned* eventMask;
  unsigned options;
} STATE;

/* As snc makes them. */
typedef struct {
  MOVED const char* ssName;
  const STATE* states;
  unsigned numStates;
} seqSS;

typedef struct {
  MOVED unsigned magic;
  const char* progName;
  void* chan;
  unsigned numChans;
  const seqSS* ss;
  unsigned numSS;
} seqProgram;
STANDS_AT(seqProgram, ss, 32);

struct program_instance;
struct state_set {
  MOVED void* var;
  const char* ssName;
  void* threadId;
  unsigned numStates;
  const STATE* states;
  struct program_instance* prog;
  int currentState, nextState, prevState;
  const unsigned* mask;
  double timeEntered, wakeupTime;
  void *syncSem, *dead, *getReq, *putReq, *metaData, *dirty;
};
STANDS_AT(SSCB, states, 32);
STANDS_AT(SSCB, currentState, 48);
STANDS_AT(SSCB, timeEntered, 72);

typedef struct program_instance {
  MOVED void* var;
  const char* progName;
  int instance;
  unsigned threadPriority, stackSize;
  void* pvSys[2];
  void* chan;
  unsigned numChans;
  void* queues;
  unsigned numQueues;
  SSCB* ss;
  unsigned numSS;
  size_t varSize;
  void* macros;
  char* params;
  unsigned options;
  void *initFunc, *entryFunc, *exitFunc;
  unsigned numEvFlags;
  void *lock, *evFlags, *syncedChans;
  unsigned assignCount, connectCount, monitorCount, gotMonitorCount;
  void* pvReqPool;
  int die;
  void *ready, *dead;
  struct program_instance* next;
} PROG;
STANDS_AT(PROG, ss, 80);
STANDS_AT(PROG, numSS, 88);

void seq_add(const seqProgram* made, struct program_instance* program);

#endif
