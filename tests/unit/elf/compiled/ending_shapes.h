/* Functions and data that ending_shapes.c uses. Without headers of a C library: it is compiled for
 * other processors, too. */
#ifndef IOC_EXPORTER_TESTS_ENDING_SHAPES_H
#define IOC_EXPORTER_TESTS_ENDING_SHAPES_H

struct record;
struct support {
  long number;
  long (*process)(struct record* record);
};
struct record {
  char name[61];
  unsigned char traced, active, again, locked;
  short alarm, severity, disabled_severity, disable, disable_value, disabled_by;
  int kind;
  void *notify, *value;
  const struct support* support;
  struct record *next, *forward;
};
struct list {
  struct record* first;
  int modified, stopped;
};

extern int breakpoints;
int* trace_of(struct record* record);
void describe(char* text, unsigned long size);
int at_breakpoint(struct record* record);
void say(const char* context, struct record* record);
void raise_alarm(struct record* record, int alarm, int severity);
long reset_alarms(struct record* record);
void post(struct record* record, void* value, long mask);
long get_link(struct record* record);
long complain(struct record* record);
void print_fields(struct record* record);
void complete(struct record* record);
void give_up(struct record* record) __attribute__((noreturn));
void lock(void* of);
void unlock(void* of);

long process(struct record* record);
long process_early(struct record* record);
long process_by_kind(struct record* record);
void scan_list(struct list* list);

#endif
