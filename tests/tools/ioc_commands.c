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
 * Functions of sub records. Both spin for B microseconds when they are slow, set VAL to 1, else to 0, and count that
 * in L:
 *
 *   slow_at_times    in the first call and each A-th after it, which it counts in K
 *   slow_if_told     when A is not 0
 *
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
#include <iocsh.h>
#include <registryFunction.h>
#include <subRecord.h>

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

static long finish(subRecord *record, int slow)
{
	double end = microseconds() + record->b;

	record->val = slow;
	if (!slow)
		return 0;
	record->l += 1;
	while (microseconds() < end)
		;
	return 0;
}

static long slow_at_times(subRecord *record)
{
	long calls = (long)record->k;

	record->k += 1;
	return finish(record, record->a > 0 && calls % (long)record->a == 0);
}

static long slow_if_told(subRecord *record)
{
	return finish(record, record->a != 0);
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

static void register_bursts(void)
{
	static const iocshArg record = {"record", iocshArgString};
	static const iocshArg calls = {"calls", iocshArgInt};
	static const iocshArg bursts = {"bursts", iocshArgInt};
	static const iocshArg pause = {"pause", iocshArgInt};
	static const iocshArg *const args[] = {&record, &calls, &bursts, &pause};
	static const iocshFuncDef process = {.name = "processInBursts", .nargs = 4, .arg = args};

	iocshRegister(&process, process_in_bursts);
	registryFunctionAdd("slow_at_times", (REGISTRYFUNCTION)slow_at_times);
	registryFunctionAdd("slow_if_told", (REGISTRYFUNCTION)slow_if_told);
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

static void register_busy(void)
{
	static const iocshArg record = {"record", iocshArgString};
	static const iocshArg *const record_args[] = {&record};
	static const iocshFuncDef complete = {.name = "completeRecord", .nargs = 1, .arg = record_args};

	iocshRegister(&complete, complete_record);
	registryFunctionAdd("busy", (REGISTRYFUNCTION)busy);
}

void register_test_commands(void)
{
	register_busy();
	register_inside_clients();
	register_bursts();
	static const iocshArg priority = {"priority", iocshArgInt};
	static const iocshArg count = {"count", iocshArgInt};
	static const iocshArg *const args[] = {&priority, &count};
	static const iocshFuncDef suspend = {.name = "suspendCallbacks", .nargs = 1, .arg = args};
	static const iocshFuncDef request = {.name = "requestCallbacks", .nargs = 2, .arg = args};

	static const iocshArg file = {"file", iocshArgString};
	static const iocshArg *const load_args[] = {&file};
	static const iocshFuncDef load = {.name = "loadModule", .nargs = 1, .arg = load_args};

	iocshRegister(&load, load_module);
	iocshRegister(&suspend, suspend_callbacks);
	iocshRegister(&request, request_callbacks);
}
