/* A driver as sites write them, with functions for descriptions (docs/functions.md) to measure. */
#ifndef IOC_EXPORTER_TESTS_DRIVER_H
#define IOC_EXPORTER_TESTS_DRIVER_H

#ifdef __cplusplus
extern "C" {
#endif

struct device {
  long unused[2];
  const char* name; /* [device+16] */
};

struct port {
  long unused;
  char name[32];  /* port+8 */
  short channels; /* port+40 */
};

/* As a class with a private part before the public one: what functions are given is &port. */
struct driver_block {
  struct device* device; /* [port-32] */
  long unused[3];
  struct port port;
};

struct user {
  long unused[4];
  void (*process)(struct user*); /* [user+32] */
};

int driver_write(struct port* port, int reason);
/* Returns 0, 1 or 2, and takes some of the time. */
int driver_status(int number, int microseconds);
long driver_sum(const long* numbers, int count);
void driver_queue(void* request);
void driver_start(void* request);
void driver_done(void* request);
void driver_submit(struct user* user);
int driver_nested(int depth);
void driver_relay(int microseconds); /* all of its time is that of its last call */
void driver_state_idle(void);
void driver_state_busy(void);
int driver_twice(int number), driver_other_twice(int number);
/* Static functions whose addresses are known to their users only. */
void driver_set_process(struct user* user, int which);
/* C++ */
void driver_set_value(int value);
void driver_set_real(double value);
int driver_throw(int number); /* 1: an exception left one of its functions */

#ifdef __cplusplus
}
#endif

#endif
