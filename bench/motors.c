/*
 * What asyn, motor, busy and StreamDevice do in an IOC, for a load: ports with two threads each, as asyn's.
 *
 *   record(move) { field(PORT, "N") }           as motor and busy: a put begins a move of ten polls; without PACT, and without
 *                                               recGblFwdLink until the last, so that a put-callback waits for it
 *   record(longin) { field(DTYP, "Bench Port") field(INP, "@N KIND") }    counts in VAL; KIND
 *     interrupt    with SCAN "I/O Intr": by scanIoRequest of each poll
 *     direct       each poll calls the record's support itself, as StreamDevice does
 *     once         each poll calls scanOnce
 *   record(longout) { field(DTYP, "Bench Port") field(OUT, "@N") }    asynchronous: the port's thread completes it by
 *                                                                    callbackRequestProcessCallback
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USE_TYPED_RSET
#define USE_TYPED_DSET
#include <callback.h>
#include <dbAccess.h>
#include <dbEvent.h>
#include <dbLock.h>
#include <dbScan.h>
#include <dbStaticLib.h>
#include <devSup.h>
#include <ellLib.h>
#include <epicsEvent.h>
#include <epicsMutex.h>
#include <epicsThread.h>
#include <longinRecord.h>
#include <longoutRecord.h>
#include <recGbl.h>
#include <recSup.h>
#include <registryCommon.h>
#include <registryDeviceSupport.h>

#include "motors.h"

#define PORTS 64
#define MOST 256 /* records of a kind and port */
#define POLLS 10 /* of a move */
#define POLL_SECONDS 0.1

struct records {
	struct dbCommon *all[MOST];
	int count;
};

struct request {
	ELLNODE node;
	epicsCallback done;
	struct dbCommon *record;
};

static struct port {
	int used;
	struct records moves, direct, once;
	IOSCANPVT interrupts;
	ELLLIST requests;
	epicsMutexId lock;
	epicsEventId requested;
} ports[PORTS];

static struct port *port_at(unsigned long number)
{
	struct port *port = &ports[number % PORTS];

	if (!port->used) {
		port->used = 1;
		scanIoInit(&port->interrupts);
		ellInit(&port->requests);
		port->lock = epicsMutexMustCreate();
		port->requested = epicsEventMustCreate(epicsEventEmpty);
	}
	return port;
}

static void add(struct records *records, void *record)
{
	if (records->count == MOST) {
		fprintf(stderr, "motors: more than %d records of a kind at a port\n", MOST);
		exit(1);
	}
	records->all[records->count++] = record;
}

/* The record type. */

struct move {
	struct dbCommon common;
	epicsFloat64 val, rbv;
	epicsInt32 port, left;
};

static const struct {
	const char *name;
	size_t offset, size;
} move_fields[] = {
	{"VAL", offsetof(struct move, val), sizeof(epicsFloat64)},
	{"RBV", offsetof(struct move, rbv), sizeof(epicsFloat64)},
	{"PORT", offsetof(struct move, port), sizeof(epicsInt32)},
	{"LEFT", offsetof(struct move, left), sizeof(epicsInt32)},
};

static const char move_type[] =
	"recordtype(move) {\n"
	"  include \"dbCommon.dbd\"\n"
	"  field(VAL, DBF_DOUBLE) { prompt(\"Target\") promptgroup(\"50 - Output\") pp(TRUE) }\n"
	"  field(RBV, DBF_DOUBLE) { prompt(\"Readback\") special(SPC_NOMOD) }\n"
	"  field(PORT, DBF_LONG) { prompt(\"Port\") promptgroup(\"50 - Output\") }\n"
	"  field(LEFT, DBF_LONG) { prompt(\"Polls until it is done\") special(SPC_NOMOD) }\n"
	"}\n"
	"device(longin, INST_IO, devBenchPortIn, \"Bench Port\")\n"
	"device(longout, INST_IO, devBenchPortOut, \"Bench Port\")\n";

/* The common fields are where calc has them. */
static int find_move_fields(dbRecordType *type)
{
	DBENTRY calc;
	int i, common;
	size_t k;

	dbInitEntry(pdbbase, &calc);
	if (dbFindRecordType(&calc, "calc"))
		return -1;
	common = type->no_fields - (int)(sizeof(move_fields) / sizeof(move_fields[0]));
	for (i = 0; i < common; i++) {
		type->papFldDes[i]->offset = calc.precordType->papFldDes[i]->offset;
		type->papFldDes[i]->size = calc.precordType->papFldDes[i]->size;
	}
	dbFinishEntry(&calc);
	for (k = 0; k < sizeof(move_fields) / sizeof(move_fields[0]); k++) {
		dbFldDes *field = type->papFldDes[common + (int)k];

		if (strcmp(field->name, move_fields[k].name))
			return -1;
		field->offset = (unsigned short)move_fields[k].offset;
		field->size = (short)move_fields[k].size;
	}
	type->rec_size = sizeof(struct move);
	return 0;
}

static long init_move(struct dbCommon *common, int pass)
{
	struct move *record = (struct move *)common;

	if (pass == 0)
		add(&port_at((unsigned long)record->port)->moves, record);
	return 0;
}

static long process_move(struct dbCommon *common)
{
	struct move *record = (struct move *)common;

	common->udf = FALSE;
	if (!record->left && record->val != record->rbv)
		record->left = POLLS;
	else if (record->left)
		record->left -= 1;
	recGblGetTimeStamp(record);
	recGblResetAlarms(record);
	if (record->left) { /* it moves */
		db_post_events(record, &record->left, DBE_VALUE);
		return 0;
	}
	record->rbv = record->val;
	db_post_events(record, &record->val, DBE_VALUE | DBE_LOG);
	db_post_events(record, &record->rbv, DBE_VALUE | DBE_LOG);
	recGblFwdLink(record);
	return 0;
}

static rset move_support = {.number = RSETNUMBER, .init_record = init_move, .process = process_move};

/* Device support. */

static long init_interrupts_of(int command, struct dbCommon *record, IOSCANPVT *list)
{
	unsigned long number = strtoul(((longinRecord *)record)->inp.value.instio.string, NULL, 10);

	(void)command;
	*list = port_at(number)->interrupts;
	return 0;
}

static long init_in(struct dbCommon *record)
{
	char *kind;
	struct port *port = port_at(strtoul(((longinRecord *)record)->inp.value.instio.string, &kind, 10));

	if (!strcmp(kind, " direct"))
		add(&port->direct, record);
	else if (!strcmp(kind, " once"))
		add(&port->once, record);
	return 0;
}

static long read_in(longinRecord *record)
{
	record->val += 1;
	return 0;
}

static long init_out(struct dbCommon *record)
{
	struct request *request = calloc(1, sizeof(*request));

	if (!request)
		return -1;
	request->record = record;
	record->dpvt = request;
	return 0;
}

static long write_out(longoutRecord *record)
{
	struct port *port = port_at(strtoul(record->out.value.instio.string, NULL, 10));
	struct request *request = record->dpvt;

	if (record->pact)
		return 0;
	record->pact = TRUE;
	epicsMutexMustLock(port->lock);
	ellAdd(&port->requests, &request->node);
	epicsMutexUnlock(port->lock);
	epicsEventMustTrigger(port->requested);
	return 0;
}

static const longindset port_in = {{5, NULL, NULL, init_in, init_interrupts_of}, read_in};
static const longoutdset port_out = {{5, NULL, NULL, init_out, NULL}, write_out};

/* Threads. */

static void run_port(void *argument)
{
	struct port *port = argument;

	for (;;) {
		struct request *request;

		epicsEventMustWait(port->requested);
		do {
			epicsMutexMustLock(port->lock);
			request = (struct request *)ellGet(&port->requests);
			epicsMutexUnlock(port->lock);
			if (request)
				callbackRequestProcessCallback(&request->done, priorityMedium, request->record);
		} while (request);
	}
}

static void process_direct(struct dbCommon *record)
{
	dbScanLock(record);
	record->rset->process(record);
	dbScanUnlock(record);
}

static void poll_move(struct dbCommon *record)
{
	dbScanLock(record);
	if (((struct move *)record)->left)
		dbProcess(record);
	dbScanUnlock(record);
}

static void run_poller(void *argument)
{
	struct port *port = argument;
	int i;

	for (;;) {
		for (i = 0; i < port->moves.count; i++)
			poll_move(port->moves.all[i]);
		scanIoRequest(port->interrupts);
		for (i = 0; i < port->direct.count; i++)
			process_direct(port->direct.all[i]);
		for (i = 0; i < port->once.count; i++)
			scanOnce(port->once.all[i]);
		epicsThreadSleep(POLL_SECONDS);
	}
}

void start_motors(void)
{
	char name[16];
	int i;

	for (i = 0; i < PORTS; i++) {
		if (!ports[i].used)
			continue;
		snprintf(name, sizeof name, "port%d", i);
		epicsThreadMustCreate(name, epicsThreadPriorityMedium, epicsThreadGetStackSize(epicsThreadStackMedium),
				      run_port, &ports[i]);
		snprintf(name, sizeof name, "poller%d", i);
		epicsThreadMustCreate(name, epicsThreadPriorityLow, epicsThreadGetStackSize(epicsThreadStackMedium),
				      run_poller, &ports[i]);
	}
}

int register_motors(const char *dbd_directory)
{
	static const char *const names[] = {"move"};
	static const recordTypeLocation types[] = {{&move_support, find_move_fields}};
	FILE *file = fmemopen((void *)move_type, sizeof(move_type) - 1, "r");

	if (!file || dbReadDatabaseFP(&pdbbase, file, dbd_directory, NULL)) /* closes the file */
		return -1;
	registerRecordTypes(pdbbase, 1, names, types);
	return registryDeviceSupportAdd("devBenchPortIn", (const dset *)&port_in) &&
			       registryDeviceSupportAdd("devBenchPortOut", (const dset *)&port_out)
		       ? 0
		       : -1;
}
