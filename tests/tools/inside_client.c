/*
 * Shell commands: clients of Channel Access within the IOC, as the sequencer is.
 *
 *   insideClient THREAD PV COUNT KIND  a client of Channel Access within the IOC, in a thread of that name, as the
 *                                      sequencer is: puts 1 to COUNT; KIND 0: plain, 1: with callback, waiting for each;
 *                                      2: with callback, for which it does not wait, and goes with endInsideClients.
 *                                      "@put THREAD" when all are sent
 *   endInsideClients
 *   supportWrites PV                   to this PV a sub record with SNAM "putInside" puts its A while it is processed, as
 *                                      device support of some modules does
 */
#include <stdio.h>
#include <unistd.h>

#include <cadef.h>
#include <epicsEvent.h>
#include <epicsThread.h>
#include <registryFunction.h>
#include <subRecord.h>

#include "ioc_commands.h"
#include "shell_command.h"

struct inside_client {
	char thread[64], pv[64];
	int count, kind;
	epicsEventId answered;
};

static volatile int inside_clients_end;

static void note_answer(struct event_handler_args args)
{
	epicsEventSignal(args.usr);
}

static void run_inside_client(void *argument)
{
	const struct inside_client *client = argument;
	chid channel;
	double value;
	int i;

	ca_context_create(ca_enable_preemptive_callback);
	ca_create_channel(client->pv, NULL, NULL, 0, &channel);
	if (ca_pend_io(10) != ECA_NORMAL)
		printf("no channel to %s\n", client->pv);
	for (i = 1; i <= client->count; i++) {
		value = i;
		if (client->kind == 0)
			ca_put(DBR_DOUBLE, channel, &value);
		else
			ca_put_callback(DBR_DOUBLE, channel, &value, note_answer, client->answered);
		if (client->kind == 1)
			epicsEventWait(client->answered);
	}
	ca_flush_io();
	printf("\n@put %s\n", client->thread);
	fflush(stdout);
	while (client->kind == 2 && !inside_clients_end)
		usleep(1000);
	ca_clear_channel(channel);
	ca_context_destroy();
}

static void inside_client(const iocshArgBuf *args)
{
	static struct inside_client clients[16];
	static int used;
	struct inside_client *client = &clients[used++ % 16];

	inside_clients_end = 0;
	snprintf(client->thread, sizeof client->thread, "%s", args[0].sval);
	snprintf(client->pv, sizeof client->pv, "%s", args[1].sval);
	client->count = args[2].ival;
	client->kind = args[3].ival;
	client->answered = epicsEventMustCreate(epicsEventEmpty);
	epicsThreadCreate(client->thread, epicsThreadPriorityMedium, epicsThreadGetStackSize(epicsThreadStackBig),
			  run_inside_client, client);
}

static void end_inside_clients(const iocshArgBuf *args)
{
	(void)args;
	inside_clients_end = 1;
}

static chid of_support;

static void support_writes(const iocshArgBuf *args)
{
	if (!of_support)
		ca_context_create(ca_enable_preemptive_callback);
	ca_create_channel(args[0].sval, NULL, NULL, 0, &of_support);
	if (ca_pend_io(10) != ECA_NORMAL)
		printf("no channel to %s\n", args[0].sval);
}

static long put_inside(subRecord *record)
{
	return ca_put(DBR_DOUBLE, of_support, &record->a) == ECA_NORMAL ? 0 : -1;
}

void register_inside_clients(void)
{
	add_command("insideClient", "ssii", inside_client);
	add_command("endInsideClients", "", end_inside_clients);
	add_command("supportWrites", "s", support_writes);
	registryFunctionAdd("putInside", (REGISTRYFUNCTION)put_inside);
}
