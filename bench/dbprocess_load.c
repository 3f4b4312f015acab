/*
 * A real IOC that measures its own dbProcess(): what a caller sees, probes or not.
 *
 *   dbprocess_load DBD_DIR DB
 *
 * Prints "ready" after iocInit, then obeys its stdin: "run RECORD CALLS BATCHES" answers with the
 * nanoseconds a call took in each of so many batches, on one line. The record is locked once a batch, as
 * a scan locks it once a record.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <time.h>

#include <dbAccess.h>
#include <dbLock.h>
#include <dbStaticLib.h>
#include <iocInit.h>
#include <iocshRegisterCommon.h>

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double ns_a_call(dbCommon *record, long calls)
{
	double start;
	long i;

	dbScanLock(record);
	start = now_ns();
	for (i = 0; i < calls; i++)
		dbProcess(record);
	start = now_ns() - start;
	dbScanUnlock(record);
	return start / (double)calls;
}

int main(int argc, char **argv)
{
	char name[64];
	long calls, batches;

	if (argc != 3) {
		fprintf(stderr, "usage: dbprocess_load DBD_DIR DB\n");
		return 2;
	}
	if (dbLoadDatabase("base.dbd", argv[1], NULL) || registerAllRecordDeviceDrivers(pdbbase) ||
	    dbLoadRecords(argv[2], NULL) || iocInit()) {
		fprintf(stderr, "dbprocess_load: the IOC does not start\n");
		return 1;
	}
	printf("ready\n");
	fflush(stdout);
	while (scanf(" run %63s %ld %ld", name, &calls, &batches) == 3) {
		DBADDR address;

		if (dbNameToAddr(name, &address)) {
			fprintf(stderr, "dbprocess_load: no record %s\n", name);
			return 1;
		}
		for (; batches > 0; batches--)
			printf("%.1f ", ns_a_call(address.precord, calls));
		printf("\n");
		fflush(stdout);
	}
	return 0;
}
