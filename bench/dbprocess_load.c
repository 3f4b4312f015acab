/*
 * A real IOC that measures its own calls of what the record probes are on: what a caller sees, probes or not.
 *
 *   dbprocess_load DBD_DIR DB [MACROS]
 *
 * Prints "ready" after iocInit, then obeys its stdin: "KIND RECORD CALLS BATCHES" answers with the nanoseconds a call took
 * in each of so many batches, on one line. The record is locked once a batch, as a scan locks it once a record. KIND:
 *
 *   run        dbProcess
 *   callback   the same in a thread with the name of a callback thread
 *   interrupt  scanIoImmediate of a list that holds the record alone: DTYP "Bench Interrupt"
 *   direct     the record's support, as drivers call it that do without dbProcess
 *   link       dbPutLink of a calcout's OUT
 *   inside     ca_put of a client within the IOC to the record's PREC, which does not process it
 */
#define _GNU_SOURCE
#define USE_TYPED_RSET
#define USE_TYPED_DSET
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <calcoutRecord.h>
#include <dbAccess.h>
#include <dbLink.h>
#include <dbLock.h>
#include <dbScan.h>
#include <dbStaticLib.h>
#include <devSup.h>
#include <iocInit.h>
#include <iocshRegisterCommon.h>
#include <longinRecord.h>
#include <recSup.h>
#include <registryDeviceSupport.h>

enum { LINK_DOUBLE = DBR_DOUBLE }; /* cadef.h has other numbers for the same names */
#include <cadef.h>

struct load {
	dbCommon *record;
	long calls, batches;
	chid channel;
};

struct kind {
	const char *name, *thread; /* in which it runs; NULL: the main one */
	int locked;
	void (*call)(struct load *load);
};

static IOSCANPVT interrupts;

static long get_interrupts(int command, struct dbCommon *record, IOSCANPVT *list)
{
	(void)command;
	(void)record;
	*list = interrupts;
	return 0;
}

static long read_nothing(longinRecord *record)
{
	record->val += 1;
	return 0;
}

static const longindset interrupt_support = {{5, NULL, NULL, NULL, get_interrupts}, read_nothing};

static void call_process(struct load *load)
{
	dbProcess(load->record);
}

static void call_interrupt(struct load *load)
{
	(void)load;
	scanIoImmediate(interrupts, priorityLow);
}

static void call_support(struct load *load)
{
	load->record->rset->process(load->record);
}

static void call_link(struct load *load)
{
	const double value = 1;

	dbPutLink(&((calcoutRecord *)load->record)->out, LINK_DOUBLE, &value, 1);
}

static void call_inside(struct load *load)
{
	const dbr_short_t value = 3;

	ca_put(DBR_SHORT, load->channel, &value);
}

static const struct kind kinds[] = {
	{"run", NULL, 1, call_process},           {"callback", "cbMedium", 1, call_process},
	{"interrupt", "port", 0, call_interrupt}, {"direct", "port", 1, call_support},
	{"link", "port", 1, call_link},           {"inside", "port", 0, call_inside},
};
static const struct kind *kind;

/* Of the thread: what else the machine does is left out. */
static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double ns_a_call(struct load *load)
{
	double start;
	long i;

	if (kind->locked)
		dbScanLock(load->record);
	start = now_ns();
	for (i = 0; i < load->calls; i++)
		kind->call(load);
	start = now_ns() - start;
	if (kind->locked)
		dbScanUnlock(load->record);
	return start / (double)load->calls;
}

static void open_channel(struct load *load)
{
	char name[128];

	snprintf(name, sizeof name, "%s.PREC", load->record->name);
	ca_context_create(ca_enable_preemptive_callback);
	ca_create_channel(name, NULL, NULL, 0, &load->channel);
	if (ca_pend_io(10) != ECA_NORMAL)
		fprintf(stderr, "dbprocess_load: no channel to %s\n", name);
}

static void *run(void *argument)
{
	struct load *load = argument;

	if (kind->thread)
		prctl(PR_SET_NAME, kind->thread);
	if (kind->call == call_inside)
		open_channel(load);
	for (; load->batches > 0; load->batches--)
		printf("%.1f ", ns_a_call(load));
	printf("\n");
	fflush(stdout);
	if (kind->call == call_inside)
		ca_context_destroy();
	return NULL;
}

static void run_in_thread(struct load *load)
{
	pthread_t thread;

	if (!kind->thread)
		run(load);
	else if (!pthread_create(&thread, NULL, run, load))
		pthread_join(thread, NULL);
}

static int register_interrupts(void)
{
	char text[] = "device(longin, CONSTANT, devBenchInterrupt, \"Bench Interrupt\")\n";
	FILE *dbd = fmemopen(text, strlen(text), "r"); /* dbReadDatabaseFP() closes it */

	scanIoInit(&interrupts);
	return !dbd || dbReadDatabaseFP(&pdbbase, dbd, NULL, NULL) ||
	       !registryDeviceSupportAdd("devBenchInterrupt", (const dset *)&interrupt_support);
}

static const struct kind *kind_called(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

int main(int argc, char **argv)
{
	char name[64], called[16];
	struct load load = {0};
	const char *macros = argc == 4 ? argv[3] : NULL;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: dbprocess_load DBD_DIR DB [MACROS]\n");
		return 2;
	}
	if (dbLoadDatabase("base.dbd", argv[1], NULL) || registerAllRecordDeviceDrivers(pdbbase) ||
	    register_interrupts() || dbLoadRecords(argv[2], macros) || iocInit()) {
		fprintf(stderr, "dbprocess_load: the IOC does not start\n");
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	while (scanf(" %15s %63s %ld %ld", called, name, &load.calls, &load.batches) == 4) {
		DBADDR address;

		kind = kind_called(called);
		if (!kind || dbNameToAddr(name, &address)) {
			fprintf(stderr, "dbprocess_load: no %s of a record %s\n", called, name);
			return 1;
		}
		load.record = address.precord;
		run_in_thread(&load);
	}
	return 0;
}
