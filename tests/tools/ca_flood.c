/*
 * Sends an exact number of Channel Access puts through libca and says how many.
 *
 *   ca_flood COUNT OP TYPE LENGTH BATCH PV...
 *
 * COUNT  puts to each PV           OP     put (WRITE) or notify (WRITE_NOTIFY)
 * TYPE   string, short, float, enum, char, long or double (the DBR type)
 * LENGTH elements a put
 * BATCH  rounds over the PVs between two flushes of libca's buffer (put only); "10@5000": at most so many puts a second
 *
 * Prints "@connected", waits for a line on stdin, sends, and prints "@sent N" when the server has done
 * all of it: a get on each channel follows the puts (one circuit is served in order), a put-callback
 * is waited for. Then it waits for the end of stdin with its channels open. Exit status 1: a put failed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cadef.h>

#define MAX_PVS 1024
#define TIMEOUT_S 30.0

struct flood {
	unsigned long count;
	int notify;
	chtype type;
	unsigned long length;
	unsigned long batch;
	unsigned long rate; /* puts a second; 0: as fast as it goes */
	int pvs;
	chid channels[MAX_PVS];
	void *values;
};

static unsigned long answered;
static unsigned long refused;

static void fail(const char *action, const char *object, int status)
{
	fprintf(stderr, "ca_flood: %s %s: %s\n", action, object, ca_message(status));
	exit(1);
}

static void on_put_done(struct event_handler_args args)
{
	answered++;
	if (args.status != ECA_NORMAL)
		refused++;
}

static void connect_all(struct flood *flood, char **names)
{
	int i, status;

	for (i = 0; i < flood->pvs; i++) {
		status = ca_create_channel(names[i], NULL, NULL, 0, &flood->channels[i]);
		if (status != ECA_NORMAL)
			fail("create channel", names[i], status);
	}
	status = ca_pend_io(TIMEOUT_S);
	if (status != ECA_NORMAL)
		fail("connect", names[0], status);
}

/* Element e of put number n: what is sent does not matter, that it differs from put to put does. */
static void fill(struct flood *flood, unsigned long n)
{
	unsigned long e;

	for (e = 0; e < flood->length; e++) {
		switch (flood->type) {
		case DBR_STRING:
			snprintf(((dbr_string_t *)flood->values)[e], MAX_STRING_SIZE, "%lu", (n + e) % 2);
			break;
		case DBR_SHORT:
			((dbr_short_t *)flood->values)[e] = (dbr_short_t)(n + e);
			break;
		case DBR_FLOAT:
			((dbr_float_t *)flood->values)[e] = (dbr_float_t)(n + e);
			break;
		case DBR_ENUM:
			((dbr_enum_t *)flood->values)[e] = (dbr_enum_t)((n + e) % 2);
			break;
		case DBR_CHAR:
			((dbr_char_t *)flood->values)[e] = (dbr_char_t)(n + e);
			break;
		case DBR_LONG:
			((dbr_long_t *)flood->values)[e] = (dbr_long_t)(n + e);
			break;
		default:
			((dbr_double_t *)flood->values)[e] = (double)(n + e);
		}
	}
}

static void send_one(struct flood *flood, int pv)
{
	int status;

	if (flood->notify)
		status = ca_array_put_callback(flood->type, flood->length, flood->channels[pv], flood->values,
					       on_put_done, NULL);
	else
		status = ca_array_put(flood->type, flood->length, flood->channels[pv], flood->values);
	if (status != ECA_NORMAL)
		fail("put", ca_name(flood->channels[pv]), status);
}

static void wait_for_answers(unsigned long wanted)
{
	double waited = 0;

	ca_flush_io();
	while (answered < wanted && waited < TIMEOUT_S) {
		ca_pend_event(0.001);
		waited += 0.001;
	}
	if (answered < wanted)
		fail("wait for", "put-callbacks", ECA_TIMEOUT);
}

/* The server has answered a get on every channel, so it has done every put before it. */
static void wait_for_server(struct flood *flood)
{
	static dbr_string_t values[MAX_PVS]; /* every field can be read as a string */
	int i, status;

	for (i = 0; i < flood->pvs; i++) {
		status = ca_array_get(DBR_STRING, 1, flood->channels[i], values[i]);
		if (status != ECA_NORMAL)
			fail("get", ca_name(flood->channels[i]), status);
	}
	status = ca_pend_io(TIMEOUT_S);
	if (status != ECA_NORMAL)
		fail("get", "all channels", status);
}

/* Until so many puts are due. */
static void pace(const struct flood *flood, const struct timespec *begun, unsigned long puts)
{
	struct timespec due = *begun;

	if (!flood->rate)
		return;
	due.tv_sec += (time_t)(puts / flood->rate);
	due.tv_nsec += (long)((double)(puts % flood->rate) / (double)flood->rate * 1e9);
	if (due.tv_nsec >= 1000000000) {
		due.tv_nsec -= 1000000000;
		due.tv_sec++;
	}
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
}

static void send_all(struct flood *flood)
{
	struct timespec begun;
	unsigned long round;
	int pv;

	clock_gettime(CLOCK_MONOTONIC, &begun);

	for (round = 0; round < flood->count; round++) {
		fill(flood, round);
		for (pv = 0; pv < flood->pvs; pv++)
			send_one(flood, pv);
		/* A server runs one put-callback a channel at a time: no second one before the first is done. */
		if (flood->notify)
			wait_for_answers((round + 1) * (unsigned long)flood->pvs);
		else if ((round + 1) % flood->batch == 0) {
			ca_flush_io();
			pace(flood, &begun, (round + 1) * (unsigned long)flood->pvs);
		}
	}
	if (!flood->notify)
		wait_for_server(flood);
}

static chtype type_of(const char *name)
{
	static const char *const names[] = {"string", "short", "float", "enum", "char", "long", "double"};
	chtype type;

	for (type = DBR_STRING; type <= DBR_DOUBLE; type++) {
		if (strcmp(name, names[type]) == 0)
			return type;
	}
	fprintf(stderr, "ca_flood: TYPE is no DBR type: %s\n", name);
	exit(2);
}

static unsigned long number(const char *text, const char *what)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end != '\0' || value == 0) {
		fprintf(stderr, "ca_flood: %s is not a positive number: %s\n", what, text);
		exit(2);
	}
	return value;
}

int main(int argc, char **argv)
{
	static struct flood flood;
	char line[16], *rate;

	if (argc < 7 || argc - 6 > MAX_PVS) {
		fprintf(stderr, "usage: ca_flood COUNT put|notify TYPE LENGTH BATCH PV...\n");
		return 2;
	}
	flood.count = number(argv[1], "COUNT");
	flood.notify = strcmp(argv[2], "notify") == 0;
	flood.type = type_of(argv[3]);
	flood.length = number(argv[4], "LENGTH");
	rate = strchr(argv[5], '@');
	if (rate) {
		*rate = '\0';
		flood.rate = number(rate + 1, "BATCH");
	}
	flood.batch = number(argv[5], "BATCH");
	flood.pvs = argc - 6;
	flood.values = calloc(flood.length, sizeof(dbr_string_t));
	if (!flood.values)
		return 1;

	connect_all(&flood, argv + 6);
	printf("@connected\n");
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		return 1;
	send_all(&flood);
	printf("@sent %lu\n", flood.count * (unsigned long)flood.pvs);
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
	}
	ca_context_destroy();
	free(flood.values);
	return refused ? 1 : 0;
}
