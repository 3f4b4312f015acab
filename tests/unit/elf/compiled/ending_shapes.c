/*
 * Functions of the shapes that probes look for the ends of: EPICS Base's dbProcess (dbAccess.c) and scanList (dbScan.c),
 * and what compilers may make of such code. compiled_ends_test.cpp compiles this file and ending_shapes_support.c.
 */
#include "ending_shapes.h"

/* As dbProcess of Base 7.0. */
long process(struct record *record)
{
	const struct support *support = record->support;
	char context[40] = "";
	int *trace = trace_of(record), set_trace = 0, notify = 0;
	long status = 0;

	if (record->traced) {
		describe(context, sizeof(context));
		if (!*trace) {
			*trace = 1;
			set_trace = 1;
		}
	} else if (*trace) {
		record->traced = 2;
	}
	if (breakpoints && !at_breakpoint(record))
		goto all_done;
	if (record->active) {
		if (record->traced)
			say(context, record);
		if (record->alarm == 12 || record->locked++ < 10 || record->severity >= 3)
			goto all_done;
		raise_alarm(record, 12, 3);
		post(record, record->value, reset_alarms(record) | 5);
		goto all_done;
	}
	record->locked = 0;
	status = get_link(record);
	if (record->disable == record->disable_value) {
		record->again = 0;
		notify = 1;
		if (record->alarm == 18)
			goto all_done;
		record->alarm = 18;
		record->severity = record->disabled_severity;
		post(record, record->value, 1);
		goto all_done;
	}
	if (!support || !support->process) {
		notify = 1;
		record->active = 1;
		complain(record);
		status = -1;
		goto all_done;
	}
	if (record->traced)
		say(context, record);
	status = support->process(record);
	if (breakpoints)
		print_fields(record);
all_done:
	if (set_trace)
		*trace = 0;
	if (notify && record->notify)
		complete(record);
	return status;
}

/* Early returns, and calls of other functions last of all. */
long process_early(struct record *record)
{
	if (!record)
		return -1;
	if (record->active)
		return record->locked > 10 ? complain(record) : 0;
	if (record->disable == record->disable_value)
		return reset_alarms(record);
	if (record->support->process(record) < 0)
		return complain(record);
	record->locked++;
	return get_link(record);
}

/* A switch, and a way that does not come back. */
long process_by_kind(struct record *record)
{
	long status = 0;

	switch (record->kind) {
	case 0:
		status = record->support->process(record);
		break;
	case 1:
		raise_alarm(record, 1, 1);
		status = record->support->process(record) + 1;
		break;
	case 2:
		return -2;
	default:
		give_up(record);
	}
	if (record->traced)
		say("", record);
	record->locked = 0;
	return status;
}

/* As scanList. */
void scan_list(struct list *list)
{
	struct record *record, *next;

	lock(list);
	for (record = list->first; record; record = next) {
		next = record->next;
		lock(record);
		process(record);
		unlock(record);
		if (list->modified) {
			list->modified = 0;
			unlock(list);
			if (list->stopped)
				return;
			lock(list);
		}
	}
	unlock(list);
}
