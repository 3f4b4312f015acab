/*
 * Device support and drivers as community modules have them: what processes records besides scans
 * and clients.
 *
 *   processDirectly RECORD TIMES THREAD    a thread of that name calls the record's support itself,
 * without dbProcess, as StreamDevice does for records with I/O Intr (StreamEpics.cc) processInNamed
 * RECORD TIMES THREAD     a thread of that name calls dbProcess, as pollers of motors do requestIo
 * RECORD TIMES                 I/O interrupts for the longins with DTYP "Test Interrupt", which
 * count in VAL; waits for each until RECORD has counted it postEvents EVENT RECORD TIMES the same
 * with an event
 */
#define _GNU_SOURCE
#include "ioc_commands.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <dbAccess.h>
#include <dbLock.h>
#include <dbScan.h>
#include <dbStaticLib.h>
#include <devSup.h>
#include <longinRecord.h>
#include <recSup.h>
#include <registryDeviceSupport.h>

#include "shell_command.h"

static IOSCANPVT interrupts;

static long init_interrupts(int after)
{
	if (!after)
		scanIoInit(&interrupts);
	return 0;
}

static long get_interrupts(int command, struct dbCommon *record, IOSCANPVT *list)
{
	(void)command;
	(void)record;
	*list = interrupts;
	return 0;
}

static long count(longinRecord *record)
{
	record->val += 1;
	return 0;
}

static const struct {
	long number;
	long (*report)(int interest);
	long (*init)(int after);
	long (*init_record)(struct dbCommon *record);
	long (*get_ioint_info)(int command, struct dbCommon *record, IOSCANPVT *list);
	long (*read)(longinRecord *record);
} interrupt_support = {5, NULL, init_interrupts, NULL, get_interrupts, count};

struct work {
	struct dbCommon *record;
	int times;
	int directly;
	char thread[16];
};

static void *process(void *arg)
{
	const struct work *work = arg;
	long (*support)(void *record) = (long (*)(void *))work->record->rset->process;
	int i;

	prctl(PR_SET_NAME, work->thread);
	for (i = 0; i < work->times; i++) {
		dbScanLock(work->record);
		if (work->directly)
			support(work->record);
		else
			dbProcess(work->record);
		dbScanUnlock(work->record);
	}
	return NULL;
}

static void process_in_thread(const iocshArgBuf *args, int directly)
{
	struct work work = {.times = args[1].ival, .directly = directly};
	pthread_t thread;
	DBADDR address;

	if (!args[0].sval || !args[2].sval || dbNameToAddr(args[0].sval, &address))
		return;
	work.record = address.precord;
	snprintf(work.thread, sizeof work.thread, "%s", args[2].sval);
	if (!pthread_create(&thread, NULL, process, &work))
		pthread_join(thread, NULL);
}

static void process_directly(const iocshArgBuf *args)
{
	process_in_thread(args, 1);
}

static void process_in_named(const iocshArgBuf *args)
{
	process_in_thread(args, 0);
}

static double value_of(DBADDR *address)
{
	double value = 0;

	dbGetField(address, DBR_DOUBLE, &value, NULL, NULL, NULL);
	return value;
}

/* Asks `times` times, and each time waits until the record has counted that. */
static void ask_for(const char *record, int times, int event)
{
	DBADDR address;
	double before;

	if (!record || dbNameToAddr(record, &address))
		return;
	while (times-- > 0) {
		before = value_of(&address);
		if (event)
			post_event(event);
		else
			scanIoRequest(interrupts);
		while (value_of(&address) == before)
			usleep(100);
	}
}

static void request_io(const iocshArgBuf *args)
{
	ask_for(args[0].sval, args[1].ival, 0);
}

static void post_events(const iocshArgBuf *args)
{
	ask_for(args[1].sval, args[2].ival, args[0].ival);
}

int register_device_support(void)
{
	char text[] = "device(longin, CONSTANT, devTestInterrupt, \"Test Interrupt\")\n";
	FILE *dbd = fmemopen(text, strlen(text), "r");

	add_command("processDirectly", "sis", process_directly);
	add_command("processInNamed", "sis", process_in_named);
	add_command("requestIo", "si", request_io);
	add_command("postEvents", "isi", post_events);
	/* Closes the file. */
	return dbd && !dbReadDatabaseFP(&pdbbase, dbd, NULL, NULL) &&
	       registryDeviceSupportAdd("devTestInterrupt", (const void *)&interrupt_support);
}
