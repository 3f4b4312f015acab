/*
 * A real IOC with a load that scans: what it pays for probes is seen from outside, and how well it keeps its periods
 * from inside.
 *
 *   ioc_load DBD_DIR DB
 *
 * Records may be those of motors.c. A sub record with the function note_time notes when it is processed. Prints "ready" after iocInit, and answers each
 * line of stdin with one:
 *
 *   get FIELD...      their values
 *   put FIELD COUNT   writes 1 to it so many times, as a client's write does
 *   (empty)           the nanoseconds between the passes noted since the last time
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <dbAccess.h>
#include <dbStaticLib.h>
#include <iocInit.h>
#include <iocshRegisterCommon.h>
#include <registryFunction.h>
#include <subRecord.h>

#include "motors.h"

#define MOST_TIMES 100000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double times[MOST_TIMES];
static int noted;

static long note_time(subRecord *record)
{
	struct timespec now;

	(void)record;
	clock_gettime(CLOCK_MONOTONIC, &now);
	pthread_mutex_lock(&lock);
	if (noted < MOST_TIMES)
		times[noted++] = (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
	pthread_mutex_unlock(&lock);
	return 0;
}

static void answer(void)
{
	int i;

	pthread_mutex_lock(&lock);
	for (i = 1; i < noted; i++)
		printf("%.0f ", times[i] - times[i - 1]);
	noted = 0;
	pthread_mutex_unlock(&lock);
	printf("\n");
	fflush(stdout);
}

static void get(char *names)
{
	for (char *name = strtok(names, " "); name; name = strtok(NULL, " ")) {
		DBADDR address;
		double value = -1;

		if (!dbNameToAddr(name, &address))
			dbGetField(&address, DBR_DOUBLE, &value, NULL, NULL, NULL);
		printf("%.0f ", value);
	}
	printf("\n");
	fflush(stdout);
}

static void put(const char *name, int count)
{
	const short one = 1;
	DBADDR address;

	for (int i = 0; i < count && !dbNameToAddr(name, &address); i++)
		dbPutField(&address, DBR_SHORT, &one, 1);
	printf("\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[65536], name[128];
	int count;

	if (argc != 3) {
		fprintf(stderr, "usage: ioc_load DBD_DIR DB\n");
		return 2;
	}
	registryFunctionAdd("note_time", (REGISTRYFUNCTION)note_time);
	if (dbLoadDatabase("base.dbd", argv[1], NULL) || registerAllRecordDeviceDrivers(pdbbase) ||
	    register_motors(argv[1]) || dbLoadRecords(argv[2], NULL) || iocInit()) {
		fprintf(stderr, "ioc_load: the IOC does not start\n");
		return 1;
	}
	start_motors();
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, "get ", 4))
			get(line + 4);
		else if (sscanf(line, "put %127s %d", name, &count) == 2)
			put(name, count);
		else
			answer();
	}
	return 0;
}
