/*
 * libcaPutLog: puts, lines and log servers. Of caPutLogApp, R4.1, and libcom/src/log/logClient.c of Base 7.0.10.
 *
 *   caPutLogPuts COUNT LINES JSON JSONLINES        so many puts, of which so many lines are made; the same of the log in JSON
 *   caPutLogServer ADDRESS CONNECTED CONNECTS      makes or changes a server
 *   caPutJsonLogServer ADDRESS CONNECTED CONNECTS  the same of the log in JSON
 */
#include <stdlib.h>
#include <string.h>

#include <netinet/in.h>

#include "shape.h"

typedef struct {
	MOVED char msgBuf[0x4000];
	struct sockaddr_in addr;
	char name[64];
	void *mutex;
	int sock;
	void *restartThreadId;
	void *stateChangeNotify, *shutdownNotify;
	unsigned connectCount, nextMsgIndex, backlog, connected, shutdown, shutdownConfirm;
	int connFailStatus;
} logClient;
STANDS_AT(logClient, addr, 16384);
STANDS_AT(logClient, shutdownNotify, 16496);
STANDS_AT(logClient, connectCount, 16504);
STANDS_AT(logClient, connected, 16516);

typedef struct clientItem {
	MOVED logClient *caPutLogClient;
	struct clientItem *next;
	char addr[1];
} clientItem;
STANDS_AT(clientItem, addr, 16);

static clientItem *caPutLogClients;

/* A class of C++: what it is called there. */
typedef struct {
	MOVED void *functions;
	int config;
	double burst_timeout;
	void *queue[2], *thread;
	int stops;
	clientItem *clients;
} CaPutJsonLogTask;
STANDS_AT(CaPutJsonLogTask, clients, 56);

CaPutJsonLogTask *json_instance __asm__("_ZN16CaPutJsonLogTask8instanceE");
void json_to_server(CaPutJsonLogTask *task, void *text) __asm__(
	"_ZN16CaPutJsonLogTask11logToServerERNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE");

typedef struct {
	int type;
} LOGDATA;

void caPutLogTaskSend(LOGDATA *data);
void caddPutToQueue(LOGDATA *data);
void caPutLogClientSend(const char *message);

static volatile int work;

KEPT void caPutLogTaskSend(LOGDATA *data)
{
	work += data->type;
}

KEPT void caddPutToQueue(LOGDATA *data)
{
	work -= data->type;
}

KEPT void json_to_server(CaPutJsonLogTask *task, void *text)
{
	work += task != NULL && text != NULL;
}

KEPT void caPutLogClientSend(const char *message)
{
	for (clientItem *client = caPutLogClients; client; client = client->next)
		work += *message;
}

static void puts_to_log(const iocshArgBuf *args)
{
	LOGDATA data = {1};

	for (int i = 0; i < args[0].ival; i++)
		caPutLogTaskSend(&data);
	for (int i = 0; i < args[1].ival; i++)
		caPutLogClientSend("line");
	for (int i = 0; i < args[2].ival; i++)
		caddPutToQueue(&data);
	for (int i = 0; i < args[3].ival; i++)
		json_to_server(json_instance, NULL);
}

static void add_server(clientItem **at, const iocshArgBuf *args)
{
	static long event;

	while (*at && strcmp((*at)->addr, args[0].sval))
		at = &(*at)->next;
	if (!*at) {
		*at = calloc(1, sizeof **at + strlen(args[0].sval));
		strcpy((*at)->addr, args[0].sval);
		(*at)->caPutLogClient = calloc(1, sizeof(logClient));
#ifdef IOC_EXPORTER_SHIFTED
		memset(&(*at)->moved_by, 0x5a, sizeof(long));
		memset(&(*at)->caPutLogClient->moved_by, 0x5a, sizeof(long));
#endif
		(*at)->caPutLogClient->addr.sin_family = AF_INET;
		(*at)->caPutLogClient->stateChangeNotify = (*at)->caPutLogClient->shutdownNotify = &event;
	}
	(*at)->caPutLogClient->connected = (unsigned)args[1].ival;
	(*at)->caPutLogClient->connectCount = (unsigned)args[2].ival;
}

static void server(const iocshArgBuf *args)
{
	add_server(&caPutLogClients, args);
}

static void json_server(const iocshArgBuf *args)
{
	if (!json_instance)
		json_instance = calloc(1, sizeof *json_instance);
	add_server(&json_instance->clients, args);
}

void register_module(void)
{
	add_command("caPutLogPuts", "iiii", puts_to_log);
	add_command("caPutLogServer", "sii", server);
	add_command("caPutJsonLogServer", "sii", json_server);
}
