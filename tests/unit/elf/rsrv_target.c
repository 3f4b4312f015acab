/* Looks like rsrv's camessage.c: its table of TCP commands, and the functions in it. */
#include <stdlib.h>

#define COMMANDS 28

struct put_notify { /* struct rsrv_put_notify, up to usrPvt */
	char before[72];
	void (*put_callback)(void *);
	void (*get_callback)(void *);
	void (*done_callback)(void *);
	void *channel;
};

typedef int (*handler)(void *header, void *payload, void **client);

void *pCaBucket;
long clientQ[3];
int rsrv_command(unsigned command, void *header, void *payload, void **client);
void dbProcessNotify(void *notify);

static __attribute__((noinline)) void send_err(void *header, int status, void **client, const char *format)
{
	client[0] = header;
	client[1] = (void *)format;
	clientQ[2] += status;
}

__attribute__((noinline)) void dbProcessNotify(void *notify)
{
	pCaBucket = notify;
}

static int bad_tcp_cmd_action(void *header, void *payload, void **client)
{
	clientQ[0]++;
	send_err(header, 142, client, "bad command");
	clientQ[1]++;
	return payload ? -1 : -2;
}

static void write_notify_put_callback(void *notify)
{
	((struct put_notify *)notify)->before[0] = 1;
}

static void write_notify_done_callback(void *notify)
{
	((struct put_notify *)notify)->before[0] = 2;
}

static int write_notify_action(void *header, void *payload, void **client)
{
	struct put_notify *notify = client[0];

	if (!notify) {
		notify = calloc(1, sizeof *notify);
		if (!notify)
			return -1;
		notify->put_callback = write_notify_put_callback;
		notify->done_callback = write_notify_done_callback;
		notify->channel = payload;
		client[0] = notify;
	}
	dbProcessNotify(header);
	return 0;
}

#define ACTION(name, number)                                        \
	static int name(void *header, void *payload, void **client) \
	{                                                           \
		client[number] = header;                            \
		return payload ? number : 0;                        \
	}

static int write_action(void *header, void *payload, void **client)
{
	if (!payload)
		send_err(header, 160, client, "put failed");
	return 0;
}

ACTION(action_0, 0)
ACTION(action_1, 1)
ACTION(action_2, 2)
ACTION(action_3, 3)
ACTION(action_6, 6)
ACTION(action_8, 8)
ACTION(action_9, 9)
ACTION(action_10, 10)
ACTION(action_12, 12)
ACTION(action_15, 15)
ACTION(action_18, 18)
ACTION(action_20, 20)
ACTION(action_21, 21)
ACTION(action_23, 23)

#define BAD bad_tcp_cmd_action
#define TABLE(write)                                                                                                   \
	{                                                                                                              \
		action_0, action_1, action_2, action_3, write, BAD, action_6, BAD, action_8, action_9, action_10, BAD, \
			action_12, BAD, BAD, action_15, BAD, BAD, action_18, write_notify_action, action_20,           \
			action_21, BAD, action_23, BAD, BAD, BAD, BAD                                                  \
	}

static const handler table[COMMANDS] = TABLE(write_action);
#ifdef WITH_TWO_TABLES
ACTION(other_write_action, 5)
static const handler other_table[COMMANDS] = TABLE(other_write_action);
#else
#define other_table table
#endif

int rsrv_command(unsigned command, void *header, void *payload, void **client)
{
	return command < COMMANDS ? (payload ? table : other_table)[command](header, payload, client) : 0;
}
