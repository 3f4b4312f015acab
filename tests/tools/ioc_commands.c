/*
 * Shell commands and record functions for tests that make an IOC busy or bring it into trouble. PRIORITY is 0, 1 or 2:
 * low, medium, high.
 *
 *   processInBursts RECORD CALLS BURSTS PAUSE  calls dbProcess so often in a row, BURSTS times with a pause of so many
 *                                              microseconds after each; ahead of all threads that have no real-time
 *                                              priority, so that a call that is not slow takes no longer on a busy host
 *   suspendCallbacks PRIORITY          that callback thread suspends itself, as after a failed assertion
 *   requestCallbacks PRIORITY COUNT    asks for so many callbacks, which do nothing
 *   completeRecord RECORD              the second phase of an asynchronous record
 *   loadModule FILE                    loads a library of tests/tools/modules, which registers commands of its own
 *
 * Functions of sub records:
 *
 *   slow_if_told     spins for B microseconds when A is not 0, and counts that in L
 *   busy             asynchronous: ends with completeRecord
 */
#include "ioc_commands.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <callback.h>
#include <dbAccess.h>
#include <dbLock.h>
#include <epicsThread.h>
#include <registryFunction.h>
#include <subRecord.h>

#include "shell_command.h"

static CALLBACK suspender, idler;

static void suspend_self(CALLBACK *callback)
{
	(void)callback;
	epicsThreadSuspendSelf();
}

static void do_nothing(CALLBACK *callback)
{
	(void)callback;
}

static void suspend_callbacks(const iocshArgBuf *args)
{
	callbackSetCallback(suspend_self, &suspender);
	callbackSetPriority(args[0].ival, &suspender);
	callbackRequest(&suspender);
}

static void request_callbacks(const iocshArgBuf *args)
{
	int i;

	callbackSetCallback(do_nothing, &idler);
	callbackSetPriority(args[0].ival, &idler);
	for (i = 0; i < args[1].ival; i++)
		callbackRequest(&idler);
}

static void load_module(const iocshArgBuf *args)
{
	void *module = args[0].sval ? dlopen(args[0].sval, RTLD_NOW | RTLD_LOCAL) : NULL;
	void (*enter)(void) = NULL;

	if (module)
		*(void **)&enter = dlsym(module, "register_module");
	if (!enter)
		printf("cannot load it: %s\n", dlerror());
	else
		enter();
}

static double microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static long slow_if_told(subRecord *record)
{
	double end = microseconds() + record->b;

	if (record->a == 0)
		return 0;
	record->l += 1;
	while (microseconds() < end)
		;
	return 0;
}

static void get_ahead_of_others(void)
{
	const struct sched_param lowest = {.sched_priority = 1};
	const int error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest);

	if (error)
		printf("no real-time priority, slow calls may be more: %s\n", strerror(error));
}

static void process_in_bursts(const iocshArgBuf *args)
{
	DBADDR address;
	int burst, i;

	if (!args[0].sval || dbNameToAddr(args[0].sval, &address))
		return;
	get_ahead_of_others();
	for (burst = 0; burst < args[2].ival; burst++) {
		for (i = 0; i < args[1].ival; i++) {
			dbScanLock(address.precord);
			dbProcess(address.precord);
			dbScanUnlock(address.precord);
		}
		usleep((useconds_t)args[3].ival);
	}
}

static long busy(subRecord *record)
{
	record->pact = 1;
	return 0;
}

static void complete_record(const iocshArgBuf *args)
{
	DBADDR address;
	struct dbCommon *record;

	if (!args[0].sval || dbNameToAddr(args[0].sval, &address))
		return;
	record = address.precord;
	dbScanLock(record);
	if (record->pact)
		record->rset->process(record);
	dbScanUnlock(record);
}

void register_test_commands(void)
{
	register_inside_clients();
	add_command("processInBursts", "siii", process_in_bursts);
	add_command("suspendCallbacks", "i", suspend_callbacks);
	add_command("requestCallbacks", "ii", request_callbacks);
	add_command("completeRecord", "s", complete_record);
	add_command("loadModule", "s", load_module);
	registryFunctionAdd("slow_if_told", (REGISTRYFUNCTION)slow_if_told);
	registryFunctionAdd("busy", (REGISTRYFUNCTION)busy);
}
