/*
 * libasyn: ports, requests. Of asyn/asynDriver/asynManager.c.
 *
 *   asynPort PORT CONNECTED ENABLED CONNECTS   makes or changes a port
 *   asynQueue PORT PRIORITY COUNT              queues requests, which stay
 *   asynRequests PORT COUNT USECS              queues one request after the other, and calls processUser for each
 *   asynTimeouts PORT COUNT                    requests that time out in the queue
 */
#include <stdlib.h>
#include <string.h>

#include <ellLib.h>
#include <epicsTime.h>

#include "shape.h"

enum { PRIORITIES = 4 };
enum { SUCCESS, DISCONNECTED = 4, DISABLED = 5 };

typedef struct asynUser {
	MOVED char *errorMessage;
	int errorMessageSize;
	double timeout;
	void *userPvt;
	void *userData;
	void *drvUser;
	int reason;
} asynUser;

struct device;
typedef struct port port;
typedef void (*userCallback)(asynUser *);

typedef struct {
	int traceMask, traceIOMask, traceInfoMask, type;
	void *fp;
	size_t traceTruncateSize, traceBufferSize;
	char *traceBuffer;
} tracePvt;

typedef struct {
	int enabled;
#ifndef IOC_EXPORTER_OLDER
	int defunct;
#endif
	int connected, autoConnect, autoConnectActive;
	void *pblockProcessHolder;
	ELLLIST interposeInterfaceList, exceptionUserList, exceptionNotifyList;
	int exceptionActive;
	epicsTimeStamp lastConnectDisconnect;
	unsigned long numberConnects;
	tracePvt trace;
	port *pport;
	struct device *pdevice;
} dpCommon;

/* A list's node leads to the node of the next, which is where the struct begins. */
struct port {
	MOVED ELLNODE node;
	char *portName;
	void *asynManagerLock, *synchronousLock;
	dpCommon dpc;
	ELLLIST deviceList, interfaceList;
	int attributes;
	asynUser *pasynUser;
	double secondsBetweenPortConnect;
	int previousConnectStatus;
	void *pasynLockPortNotify, *lockPortNotifyPvt;
	ELLLIST queueList[PRIORITIES];
};
STANDS_AT(port, portName, 16);
STANDS_AT(port, dpc, 40);
#ifdef IOC_EXPORTER_OLDER
STANDS_AT(port, queueList, 320);
#else
STANDS_AT(port, queueList, 328);
#endif

typedef struct {
	MOVED ELLNODE node;
	void *timer, *callbackDone;
	userCallback processUser, timeoutUser;
	double timeout;
	int state;
	unsigned int blockPortCount, blockDeviceCount;
	int isBlockHolder;
	port *pport;
	struct device *pdevice;
	void *pexceptionUser;
	int freeAfterCallback, isQueued;
	asynUser user;
} userPvt;
STANDS_AT(userPvt, processUser, 32);
STANDS_AT(userPvt, pport, 72);
STANDS_AT(userPvt, user, 104);

typedef struct {
	MOVED ELLLIST asynPortList;
	ELLLIST asynUserFreeList, interruptNodeFree;
} asynBase;

static asynBase *pasynBase;

static port *locatePort(const char *name)
{
	port *one;
	ELLNODE *node;

	for (node = ellFirst(&pasynBase->asynPortList); node; node = ellNext(node)) {
		one = (port *)((char *)node - offsetof(port, node));
		if (!strcmp(one->portName, name))
			return one;
	}
	one = calloc(1, sizeof *one);
	memset(one, 0x5a, offsetof(port, node));
	one->portName = strdup(name);
	one->dpc.pport = one;
	ellAdd(&pasynBase->asynPortList, &one->node);
	return one;
}

KEPT static void queueTimeoutCallback(void *pvt)
{
	userPvt *user = pvt;

	user->isQueued = 0;
}

KEPT static int queueRequest(asynUser *pasynUser, int priority, double timeout)
{
	userPvt *user = (userPvt *)((char *)pasynUser - offsetof(userPvt, user));

	(void)priority;
	user->timeout = timeout;
	if (!user->pport->dpc.enabled)
		return DISABLED;
	if (!user->pport->dpc.connected)
		return DISCONNECTED;
	user->isQueued = 1;
	return SUCCESS;
}

/* The manager calls them by a table, too. */
static struct {
	int (*queueRequest)(asynUser *, int, double);
	void (*queueTimeout)(void *);
} volatile manager = {queueRequest, queueTimeoutCallback};

static int pause_of_process;
KEPT static void processUser(asynUser *pasynUser)
{
	if (pause_of_process)
		module_pause(pause_of_process);
	pasynUser->reason++;
}

static void (*volatile process)(asynUser *) = processUser;

static userPvt *user_of(port *of)
{
	userPvt *user = calloc(1, sizeof *user);

	memset(user, 0x5a, offsetof(userPvt, node));
	user->pport = of;
	user->processUser = process;
	return user;
}

static void set_port(const iocshArgBuf *args)
{
	port *one = locatePort(args[0].sval);

	one->dpc.connected = args[1].ival;
	one->dpc.enabled = args[2].ival;
	one->dpc.numberConnects = (unsigned long)args[3].ival;
}

static void queue(const iocshArgBuf *args)
{
	ELLLIST *list = &locatePort(args[0].sval)->queueList[args[1].ival];
	int i;

	for (i = 0; i < args[2].ival; i++)
		ellAdd(list, &user_of(NULL)->node);
}

static void request(const iocshArgBuf *args)
{
	userPvt *user = user_of(locatePort(args[0].sval));
	int i;

	pause_of_process = args[2].ival;
	for (i = 0; i < args[1].ival; i++) {
		if (manager.queueRequest(&user->user, 1, 1.0) != SUCCESS)
			continue;
		if (args[2].ival)
			module_pause(args[2].ival);
		user->processUser(&user->user);
	}
}

static void time_out(const iocshArgBuf *args)
{
	userPvt *user = user_of(locatePort(args[0].sval));
	int i;

	for (i = 0; i < args[1].ival; i++)
		manager.queueTimeout(user);
}

void register_gpib(void);

void register_module(void)
{
	pasynBase = calloc(1, sizeof *pasynBase);
	memset(pasynBase, 0x5a, offsetof(asynBase, asynPortList));
	add_command("asynPort", "siii", set_port);
	add_command("asynQueue", "sii", queue);
	add_command("asynRequests", "sii", request);
	add_command("asynTimeouts", "si", time_out);
	register_gpib();
}
