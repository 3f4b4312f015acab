/*
 * Libraries with the names, functions and structs of community modules, for tests: asyn R4-45,
 * StreamDevice 2.8.26, seq 2.2.9, autosave R5-11, ADCore R3-14, as far as ioc_exporter looks at
 * them. Each registers commands for the IOC's shell which do a known number of things.
 *
 * MOVED: begins each struct. Built with IOC_EXPORTER_SHIFTED, all fields stand 8 bytes further, as
 * in a version that nobody knows. The bytes there are no zeros. With IOC_EXPORTER_OLDER they are as
 * before asyn R4-45.
 */
#ifndef SHAPE_H
#define SHAPE_H

#include <stddef.h>
#include <time.h>

#include "../shell_command.h"

#ifdef IOC_EXPORTER_SHIFTED
#define MOVED long moved_by;
#define STANDS_AT(type, field, offset) typedef int unused_##type##_##field
#else
#define MOVED
#ifdef __cplusplus
#define STANDS_AT(type, field, offset) \
  static_assert(offsetof(type, field) == (offset), "as in the real module")
#else
#define STANDS_AT(type, field, offset) \
  _Static_assert(offsetof(type, field) == (offset), "as in the real module")
#endif
#endif

/* A function of its own, also where it is called once. */
#define KEPT __attribute__((noinline, noclone, used))

#ifdef __cplusplus
extern "C" {
#endif

/* Registers its commands; the program that loads the library calls it. */
void register_module(void);

#ifdef __cplusplus
}
#endif

static inline void module_pause(int microseconds) {
  const struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000L};

  nanosleep(&time, NULL);
}

#endif
