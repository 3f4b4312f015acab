/*
 * Shell commands for tests that bring an IOC into trouble. PRIORITY is 0, 1 or 2: low, medium, high.
 *
 *   suspendCallbacks PRIORITY          that callback thread suspends itself, as after a failed assertion
 *   requestCallbacks PRIORITY COUNT    asks for so many callbacks, which do nothing
 */
#include "ioc_commands.h"

#include <callback.h>
#include <epicsThread.h>
#include <iocsh.h>

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

void register_test_commands(void)
{
	static const iocshArg priority = {"priority", iocshArgInt};
	static const iocshArg count = {"count", iocshArgInt};
	static const iocshArg *const args[] = {&priority, &count};
	static const iocshFuncDef suspend = {.name = "suspendCallbacks", .nargs = 1, .arg = args};
	static const iocshFuncDef request = {.name = "requestCallbacks", .nargs = 2, .arg = args};

	iocshRegister(&suspend, suspend_callbacks);
	iocshRegister(&request, request_callbacks);
}
