/* Functions that ending_shapes.c calls, and play(), which sends its functions all the ways that they have. */
#include "ending_shapes.h"

void longjmp(void *buffer, int value) __attribute__((noreturn));
int _setjmp(void *buffer) __attribute__((returns_twice));

int breakpoints;
static int trace, goes_on;
static long buffer[64];

int *trace_of(struct record *record)
{
	(void)record;
	return &trace;
}
void describe(char *text, unsigned long size)
{
	text[size - 1] = 0;
}
int at_breakpoint(struct record *record)
{
	(void)record;
	return goes_on;
}
void say(const char *context, struct record *record)
{
	record->locked += (unsigned char)context[0];
}
void raise_alarm(struct record *record, int alarm, int severity)
{
	record->alarm = (short)alarm;
	record->severity = (short)severity;
}
long reset_alarms(struct record *record)
{
	return record->alarm;
}
void post(struct record *record, void *value, long mask)
{
	record->value = value ? value : (void *)mask;
}
long get_link(struct record *record)
{
	record->disable = record->disabled_by;
	return 0;
}
long complain(struct record *record)
{
	record->severity = 3;
	return -1;
}
void print_fields(struct record *record)
{
	record->name[0] = 'p';
}
void complete(struct record *record)
{
	record->notify = 0;
}
void give_up(struct record *record)
{
	(void)record;
	longjmp(buffer, 1);
}
void lock(void *of)
{
	(void)of;
}
void unlock(void *of)
{
	(void)of;
}

/* Processes another record in turn, as a forward link does. */
static long follow(struct record *record)
{
	return record->forward ? process(record->forward) : record->kind;
}
static long fail(struct record *record)
{
	(void)record;
	return -1;
}

static const struct support following = {1, follow}, failing = {1, fail}, none = {1, 0};

/* The record again and again, by all functions that take one. */
static void play_record(const struct record *like)
{
	struct record record;
	int traced;

	for (traced = 0; traced < 4; traced++) {
		record = *like;
		record.traced = (unsigned char)(traced >> 1);
		trace = traced & 1;
		process(&record);
		if (trace != (traced & 1) || !like->support || !like->support->process)
			continue;
		record = *like;
		process_early(&record);
		record.traced = (unsigned char)(traced >> 1);
		if (!_setjmp(buffer))
			process_by_kind(&record);
	}
}

void play(void)
{
	const struct record usual = {.disable_value = 1, .support = &following};
	struct record record = usual, forward = usual, other = usual;
	struct list list = {&record, 0, 0};
	int i;

	process_early(0);
	for (i = 0; i < 4; i++) {
		record.kind = i;
		play_record(&record);
	}
	record.kind = 0;
	for (i = 0; i < 2; i++) {
		breakpoints = 1;
		goes_on = i;
		play_record(&record);
	}
	breakpoints = 0;
	record.support = &failing;
	play_record(&record);
	for (i = 0; i < 2; i++) {
		record.notify = i ? &record : 0;
		record.support = &none;
		play_record(&record);
		record.support = 0;
		play_record(&record);
		record.support = &following;
		record.disabled_by = record.disable = 1;
		play_record(&record);
		record.alarm = 18;
		play_record(&record);
		record.alarm = 0;
		record.disabled_by = record.disable = 0;
	}
	record.active = 1;
	for (i = 0; i < 30; i += 10) {
		record.locked = (unsigned char)i;
		play_record(&record);
		record.severity = 3;
		play_record(&record);
		record.severity = 0;
		record.alarm = 12;
		play_record(&record);
		record.alarm = 0;
	}
	record = usual;
	record.forward = &forward;
	record.next = &other;
	scan_list(&list);
	list.modified = 1;
	scan_list(&list);
	list.modified = list.stopped = 1;
	scan_list(&list);
	list.first = 0;
	scan_list(&list);
}
