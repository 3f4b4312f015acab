/*
 * libasyn, too: two other functions that are called as those of asynManager.c are.
 *
 *   gpibRequests COUNT        calls each of them so often
 */
#include "shape.h"

void register_gpib(void);

static volatile int requests;

KEPT static int queueRequest(void *dpvt, void *work)
{
	(void)dpvt, (void)work;
	return requests++;
}

KEPT static void queueTimeoutCallback(void *user)
{
	(void)user;
	requests++;
}

static void call(const iocshArgBuf *args)
{
	static int user[64];
	int i;

	for (i = 0; i < args[0].ival; i++) {
		queueRequest(user + 40, user);
		queueTimeoutCallback(user);
	}
}

void register_gpib(void)
{
	add_command("gpibRequests", "i", call);
}
