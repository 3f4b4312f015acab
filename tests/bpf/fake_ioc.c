/*
 * A process with a dbProcess() of its own, to count on exactly. It follows Base's dbAccess.c in
 * what the probes rely on: PACT returns at once, DISA == DISV sets STAT to DISABLE, links are
 * processed in turn.
 *
 * Prints "<address of record 0> <size of a record>", then obeys lines: set <record>
 * <field> <value>    fields: scan pact disa disv stat sevr link also self_disable async sdis_type
 * sdis_value wait_us raises; `also`: a second link; `puts`: a record that it writes to and
 *                                  processes then
 *                                   leaves: dbProcess() does not return from it
 *                                   ends: a record on which dbProcess() and recGblFwdLink() call
 * recGblFwdLink(), as a driver does
 *                                   forwards: dbProcess() ends with recGblFwdLink(), which
 * processes the link call <record> <times>           dbProcess() on it, in the main thread leave
 * <record> <times>          the same, and back by longjmp() when a record leaves that way name
 * <name>                     of the threads that are started from now on threads <count> <times>
 * thread i calls dbProcess() on record i scan <count> <times>            the same within scanList()
 *   puts <count> <times>            one thread calls dbPut() on the first records
 *   field <record> <times>          one thread calls dbPut() and then dbProcess() on it, as
 * dbPutField() does link <record> <times>         one thread calls dbDbPutValue() on it complete <record> <times>       one thread calls recGblFwdLink() on it, which
 * processes its link after <record> <times>         the same, and then dbProcess() on the next record, with
 * the return address of recGblFwdLink() still on the stack notify <count>                  one thread begins puts with callback to record
 * 0, which wait; the first owns it restart                         one thread does the write of
 * that one many <count>                    makes so many more records and calls dbProcess() on each
 *   again                           calls it on each of these once more
 *   spin <record>                   calls dbProcess() on it until the next line comes; from what
 * leaves, too end_main                        ends the main thread; another one obeys from then on
 * and answers each with "ok <dbProcess calls that processed, over all records>".
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tools/end_main.h"

enum { RECORDS = 1000, NOTIFIES = 8192, DISABLE_ALARM = 18, CONSTANT = 0 };

/* DISV to PACT lie as in struct dbCommon of Base 7.0.10; the rest is what the process needs itself.
 */
struct record {
	char name[132];
	uint16_t scan;
	char before[132];
	int16_t disv;
	int16_t disa;
	char pad[2];
	struct {
		struct record *record;
		int16_t type;
		char rest[70];
	} sdis;
	char between[58];
	uint16_t stat;
	uint16_t sevr;
	char after[2];
	struct notify *ppn;
	char more[81];
	uint8_t pact;
	uint8_t self_disable;
	uint8_t async;
	int16_t sdis_value;
	uint8_t leaves;
	uint8_t notify;
	uint8_t raises;
	uint8_t forwards;
	int events;
	int link;
	int also;
	int puts;
	int ends;
	int wait_us;
	uint64_t processed;
};

_Static_assert(offsetof(struct record, disv) == 266, "Base 7.0.10");
_Static_assert(offsetof(struct record, sdis) == 272, "Base 7.0.10");
_Static_assert(offsetof(struct record, stat) == 410, "Base 7.0.10");
_Static_assert(offsetof(struct record, sevr) == 412, "Base 7.0.10");
_Static_assert(offsetof(struct record, ppn) == 416, "as FakeIoc says");
_Static_assert(offsetof(struct record, pact) == 505, "Base 7.0.10");

static struct record records[RECORDS];

__attribute__((noinline)) long dbProcess(struct record *record);

/* A record is processed in turn by its own support, of which dbProcess knows the address only. */
static long (*volatile process_in_turn)(struct record *record) = dbProcess;

static jmp_buf landing;

static void leave_it(struct record *record)
{
	if (record->wait_us)
		usleep((useconds_t)record->wait_us);
	if (record->leaves)
		longjmp(landing, 1);
}

static void (*volatile support)(struct record *record) = leave_it;

/* The function that Base calls last. */
__attribute__((noinline)) void post_events(struct record *record);
__attribute__((noinline)) void notify_completion(struct record *record);

void post_events(struct record *record)
{
	record->events++;
}

void notify_completion(struct record *record)
{
	record->notify = 0;
}

static volatile int trace;

__attribute__((noinline)) void recGblFwdLink(struct record *record);

static void (*volatile forward)(struct record *record) = recGblFwdLink;

struct address {
	struct record *record;
};

__attribute__((noinline)) long dbPut(struct address *address, short type, const void *value, long elements);

/* As record support does it: the record is active until recGblFwdLink() has returned. */
static void complete(struct record *record)
{
	record->pact = 1;
	forward(record);
}

/* Has more on the stack than process_after() has there. */
static void complete_above(struct record *record)
{
	volatile char room[256];

	room[0] = 0;
	complete(record);
}

static void process_after(struct record *record)
{
	volatile char room[4096]; /* over the return address of recGblFwdLink(): never written */

	process_in_turn(record);
	room[0] = 0;
}

static void complete_and_process(struct record *record)
{
	complete_above(record);
	process_after(record + 1);
}

static void put_and_process(struct record *record)
{
	int value = 1;

	dbPut(&(struct address){record}, 0, &value, 1);
	process_in_turn(record);
}

long dbProcess(struct record *record)
{
	long status = 0;
	int notify = 0;

	if (record->pact)
		goto done;
	if (record->sdis.type != CONSTANT)
		record->disa = record->sdis_value;
	if (record->disa == record->disv) {
		notify = 1;
		if (record->stat == DISABLE_ALARM)
			goto done;
		record->stat = DISABLE_ALARM;
		post_events(record);
		goto done;
	}
	record->processed++;
	if (record->async)
		record->pact = 1;
	else
		record->stat = 0;
	if (record->raises)
		record->sevr = record->raises;
	if (record->self_disable)
		record->disa = record->disv;
	support(record);
	if (record->ends >= 0)
		complete(&records[record->ends]);
	if (record->forwards && !record->async)
		forward(record);
	else if (record->link >= 0)
		status = process_in_turn(&records[record->link]);
	if (record->also >= 0)
		status = process_in_turn(&records[record->also]);
	if (record->puts >= 0)
		put_and_process(&records[record->puts]);
done:
	if (trace) /* as Base does: a jump, which shows that the end has come */
		trace = 0;
	if (notify && record->notify)
		notify_completion(record);
	return status;
}

/* Of a list with one record. */
__attribute__((noinline)) void scanList(struct record *record);

static volatile int list_length = 1;

void scanList(struct record *record)
{
	for (int i = 0; i < list_length; i++)
		process_in_turn(record);
}

/* Of an asynchronous record that completes, or of one that forwards. */
void recGblFwdLink(struct record *record)
{
	if (record->ends >= 0)
		complete(&records[record->ends]);
	if (record->link >= 0)
		process_in_turn(&records[record->link]);
	record->pact = 0;
}

long dbPut(struct address *address, short type, const void *value, long elements)
{
	(void)type;
	(void)elements;
	struct record *record = address->record;

	post_events(record);
	record->events += *(const int *)value - 1;
	return 0;
}

/* Writes through a link. Its call ends in the first bytes of its code: whoever takes that code to begin elsewhere does
 * not find the caller in it. */
#if defined(__x86_64__)
__asm__(".pushsection .text\n.globl dbDbPutValue\n.type dbDbPutValue, @function\ndbDbPutValue:\n"
	" call *%rax\n ret\n.size dbDbPutValue, .-dbDbPutValue\n.popsection");

static void put_by_link(struct record *record)
{
	static int value = 1;
	struct address address = {record}, *to = &address;
	const int *from = &value;
	long type = 0, elements = 1;
	void *put = (void *)dbPut;

	__asm__ volatile("sub $128, %%rsp\n call dbDbPutValue\n add $128, %%rsp" /* below the red zone */
			 : "+a"(put), "+D"(to), "+S"(type), "+d"(from), "+c"(elements)
			 :
			 : "r8", "r9", "r10", "r11", "memory", "cc");
}
#else
__attribute__((noinline)) void dbDbPutValue(struct record *record);

void dbDbPutValue(struct record *record)
{
	int value = 1;

	dbPut(&(struct address){record}, 0, &value, 1);
}

static void put_by_link(struct record *record)
{
	dbDbPutValue(record);
}
#endif

static struct address target = {&records[0]};

static struct notify {
	struct address *address;
} notifies[NOTIFIES];

__attribute__((noinline)) void dbProcessNotify(struct notify *notify);

void dbProcessNotify(struct notify *notify)
{
	if (!target.record->ppn)
		target.record->ppn = notify;
}

struct work {
	struct record *record;
	long times;
	void (*call)(struct record *record);
};

static void *work(void *arg)
{
	struct work *work = arg;
	for (long i = 0; i < work->times; i++)
		dbProcess(work->record);
	return NULL;
}

static void leave(struct record *record, long times)
{
	volatile long left = times;

	while (left-- > 0)
		if (!setjmp(landing))
			dbProcess(record);
}

static char thread_name[16] = "worker";

static void *named_work(void *arg)
{
	prctl(PR_SET_NAME, thread_name);
	return work(arg);
}

static void *named_calls(void *arg)
{
	struct work *work = arg;
	prctl(PR_SET_NAME, thread_name);
	for (long i = 0; i < work->times; i++)
		work->call(work->record);
	return NULL;
}

struct puts {
	int records;
	long times;
};

static void *named_puts(void *arg)
{
	struct puts *puts = arg;
	int value = 1;
	prctl(PR_SET_NAME, thread_name);
	for (long i = 0; i < puts->times; i++)
		for (int k = 0; k < puts->records; k++)
			dbPut(&(struct address){&records[k]}, 0, &value, 1);
	return NULL;
}

static void *named_notifies(void *count)
{
	prctl(PR_SET_NAME, thread_name);
	for (int i = 0; i < *(int *)count && i < NOTIFIES; i++) {
		notifies[i].address = &target; /* as its caller has it */
		dbProcessNotify(&notifies[i]);
	}
	return NULL;
}

static void *named_restart(void *unused)
{
	int value = 1;
	prctl(PR_SET_NAME, thread_name);
	dbPut(target.record->ppn->address, 0, &value, 1);
	return unused;
}

static void run_thread(void *(*run)(void *), void *arg)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, run, arg))
		exit(3);
	pthread_join(thread, NULL);
}

static void run_threads(int count, long times, void *(*run)(void *), void (*call)(struct record *))
{
	pthread_t threads[RECORDS];
	struct work works[RECORDS];
	for (int i = 0; i < count; i++) {
		works[i] = (struct work){&records[i], times, call};
		if (pthread_create(&threads[i], NULL, run, &works[i]))
			exit(3);
	}
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

#define FIELD(name, member)                                                                 \
	{                                                                                   \
		name, offsetof(struct record, member), sizeof(((struct record *)0)->member) \
	}
static const struct {
	const char *name;
	size_t at, size;
} fields[] = {FIELD("pact", pact),     FIELD("disa", disa),         FIELD("disv", disv),
	      FIELD("scan", scan),     FIELD("stat", stat),         FIELD("sevr", sevr),
	      FIELD("link", link),     FIELD("also", also),         FIELD("puts", puts),
	      FIELD("ends", ends),     FIELD("raises", raises),     FIELD("self_disable", self_disable),
	      FIELD("async", async),   FIELD("wait_us", wait_us),   FIELD("sdis_type", sdis.type),
	      FIELD("leaves", leaves), FIELD("forwards", forwards), FIELD("sdis_value", sdis_value)};

/* Of the value's bytes the first ones: the machine is little-endian. */
static void set_field(struct record *record, const char *field, int value)
{
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
		if (!strcmp(field, fields[i].name)) {
			memcpy((char *)record + fields[i].at, &value, fields[i].size);
			return;
		}
	exit(2);
}

static struct record *more;
static int more_count;

static void make_more(int count)
{
	more = calloc((size_t)count, sizeof *more);
	if (!more)
		exit(3);
	more_count = count;
	for (int i = 0; i < count; i++) {
		more[i].disv = 1;
		more[i].link = -1;
		more[i].also = -1;
		more[i].puts = -1;
		more[i].ends = -1;
	}
}

static void process_more(void)
{
	for (int i = 0; i < more_count; i++)
		dbProcess(&more[i]);
}

static void answer(void)
{
	uint64_t processed = 0;
	for (int i = 0; i < RECORDS; i++)
		processed += records[i].processed;
	for (int i = 0; i < more_count; i++)
		processed += more[i].processed;
	printf("ok %llu\n", (unsigned long long)processed);
	fflush(stdout);
}

static void obey(void);

static void obey_on(void)
{
	answer();
	obey();
}

static void obey(void)
{
	char line[128], field[32];
	int record, value;
	long times;

	while (fgets(line, sizeof line, stdin)) {
		if (sscanf(line, "set %d %31s %d", &record, field, &value) == 3) {
			set_field(&records[record], field, value);
		} else if (sscanf(line, "call %d %ld", &record, &times) == 2) {
			work(&(struct work){&records[record], times, NULL});
		} else if (sscanf(line, "leave %d %ld", &record, &times) == 2) {
			leave(&records[record], times);
		} else if (sscanf(line, "name %15[^\n]", thread_name) == 1) {
			;
		} else if (sscanf(line, "threads %d %ld", &value, &times) == 2) {
			run_threads(value, times, named_work, NULL);
		} else if (sscanf(line, "scan %d %ld", &value, &times) == 2) {
			run_threads(value, times, named_calls, scanList);
		} else if (sscanf(line, "puts %d %ld", &value, &times) == 2) {
			run_thread(named_puts, &(struct puts){value, times});
		} else if (sscanf(line, "field %d %ld", &record, &times) == 2) {
			run_thread(named_calls, &(struct work){&records[record], times, put_and_process});
		} else if (sscanf(line, "link %d %ld", &record, &times) == 2) {
			run_thread(named_calls, &(struct work){&records[record], times, put_by_link});
		} else if (sscanf(line, "complete %d %ld", &record, &times) == 2) {
			run_thread(named_calls, &(struct work){&records[record], times, complete});
		} else if (sscanf(line, "after %d %ld", &record, &times) == 2) {
			run_thread(named_calls, &(struct work){&records[record], times, complete_and_process});
		} else if (sscanf(line, "notify %d", &value) == 1) {
			run_thread(named_notifies, &value);
		} else if (strcmp(line, "restart\n") == 0) {
			run_thread(named_restart, NULL);
		} else if (sscanf(line, "many %d", &value) == 1) {
			make_more(value);
			process_more();
		} else if (!strncmp(line, "again", 5)) {
			process_more();
		} else if (sscanf(line, "spin %d", &record) == 1) {
			struct pollfd in = {.fd = 0, .events = POLLIN};
			do
				leave(&records[record], 50);
			while (poll(&in, 1, 0) == 0);
			continue;
		} else if (!strncmp(line, "end_main", 8)) {
			go_on_without_main(obey_on);
			pthread_exit(NULL);
		}
		answer();
	}
	exit(0);
}

int main(void)
{
	prctl(PR_SET_NAME, "fake_ioc"); /* whatever its file is called */
	for (int i = 0; i < RECORDS; i++) {
		snprintf(records[i].name, sizeof records[i].name, "FAKE:%d", i);
		records[i].disv = 1;
		records[i].sdis.record = &records[i];
		records[i].link = -1;
		records[i].also = -1;
		records[i].puts = -1;
		records[i].ends = -1;
	}
	printf("%llu %zu\n", (unsigned long long)(uintptr_t)records, sizeof records[0]);
	fflush(stdout);
	setvbuf(stdin, NULL, _IONBF, 0);
	obey();
}
