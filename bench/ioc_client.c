/*
 * A Channel Access client that measures what an IOC's users see: how old a monitor's value is when it comes, and how
 * long a put-callback takes.
 *
 *   ioc_client PV MONITORED... [-- PENDING...]
 *
 * Prints "ready" when all monitors have come. For each line of stdin, a number of seconds, it puts to PV a hundred
 * times a second for so long, and answers with two lines of microseconds: of puts, of monitors. A put-callback to each
 * PENDING waits all the time: when it is done, the next one is sent.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cadef.h>

#define MOST_SAMPLES 1000000
#define EPICS_EPOCH 631152000.0 /* 1990, in seconds of POSIX */

struct samples {
	double us[MOST_SAMPLES];
	int count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static struct samples puts_, monitors;
static int answered, measuring;

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void add(struct samples *samples, double us)
{
	if (samples->count < MOST_SAMPLES)
		samples->us[samples->count++] = us;
}

static void on_monitor(struct event_handler_args args)
{
	const struct dbr_time_double *value = args.dbr;
	double stamp, now = seconds(CLOCK_REALTIME);

	if (args.status != ECA_NORMAL)
		return;
	stamp = (double)value->stamp.secPastEpoch + EPICS_EPOCH + (double)value->stamp.nsec / 1e9;
	pthread_mutex_lock(&lock);
	if (measuring)
		add(&monitors, (now - stamp) * 1e6);
	pthread_mutex_unlock(&lock);
}

static void on_put(struct event_handler_args args)
{
	(void)args;
	pthread_mutex_lock(&lock);
	answered = 1;
	pthread_cond_signal(&done);
	pthread_mutex_unlock(&lock);
}

static void put_again(struct event_handler_args args)
{
	double *value = args.usr;

	*value += 1;
	ca_array_put_callback(DBR_DOUBLE, 1, args.chid, value, put_again, value);
	ca_flush_io();
}

static chid connect_to(const char *name)
{
	chid channel;

	if (ca_create_channel(name, NULL, NULL, 0, &channel) != ECA_NORMAL || ca_pend_io(30.0) != ECA_NORMAL) {
		fprintf(stderr, "ioc_client: connecting to %s failed\n", name);
		exit(1);
	}
	return channel;
}

static void put(chid channel, double value)
{
	const double start = seconds(CLOCK_MONOTONIC);

	pthread_mutex_lock(&lock);
	answered = 0;
	pthread_mutex_unlock(&lock);
	ca_array_put_callback(DBR_DOUBLE, 1, channel, &value, on_put, NULL);
	ca_flush_io();
	pthread_mutex_lock(&lock);
	while (!answered)
		pthread_cond_wait(&done, &lock);
	add(&puts_, (seconds(CLOCK_MONOTONIC) - start) * 1e6);
	pthread_mutex_unlock(&lock);
}

static void print(struct samples *samples)
{
	int i;

	for (i = 0; i < samples->count; i++)
		printf("%.0f ", samples->us[i]);
	samples->count = 0;
	printf("\n");
}

static void measure(chid channel, double duration)
{
	const double end = seconds(CLOCK_MONOTONIC) + duration;

	pthread_mutex_lock(&lock);
	measuring = 1;
	pthread_mutex_unlock(&lock);
	while (seconds(CLOCK_MONOTONIC) < end) {
		put(channel, end);
		usleep(10000);
	}
	pthread_mutex_lock(&lock);
	measuring = 0;
	print(&puts_);
	print(&monitors);
	pthread_mutex_unlock(&lock);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	double duration;
	chid channel;
	int i;

	if (argc < 2) {
		fprintf(stderr, "usage: ioc_client PV MONITORED...\n");
		return 2;
	}
	ca_context_create(ca_enable_preemptive_callback);
	channel = connect_to(argv[1]);
	for (i = 2; i < argc && strcmp(argv[i], "--"); i++)
		ca_create_subscription(DBR_TIME_DOUBLE, 1, connect_to(argv[i]), DBE_VALUE, on_monitor, NULL, NULL);
	for (i++; i < argc; i++)
		put_again((struct event_handler_args){.chid = connect_to(argv[i]), .usr = calloc(1, sizeof(double))});
	ca_pend_event(1.0);
	printf("ready\n");
	fflush(stdout);
	while (scanf("%lf", &duration) == 1)
		measure(channel, duration);
	return 0;
}
