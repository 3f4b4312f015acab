/* Of pcas 4.13.3, src/pcas/generic/casdef.h: what a program derives its server from. */
#ifndef CASDEF_H
#define CASDEF_H

class caServer {
 public:
  virtual ~caServer();
};

#endif
