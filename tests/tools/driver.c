/*
 * driver.h. Preloaded into an IOC, it does what the FIFO in the environment's DRIVER says, one line each: a function,
 * how often, a number and texts.
 */
#define _GNU_SOURCE
#include "tools/driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PROBED __attribute__((noinline, noclone))

static volatile int work;

static void busy_for(int microseconds)
{
	struct timespec start, now;

	if (microseconds <= 0)
		return;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - start.tv_sec) * 1000000 + (now.tv_nsec - start.tv_nsec) / 1000 < microseconds);
}

PROBED int driver_write(struct port *port, int reason)
{
	if (reason < 0)
		return -1;
	work += reason;
	return port == NULL ? -2 : 0;
}

PROBED int driver_status(int number, int microseconds)
{
	int status = 0;

	busy_for(microseconds);
	if (number % 3 == 1)
		status = 1;
	else if (number % 3 == 2)
		status = 2;
	work += status;
	return status;
}

PROBED long driver_sum(const long *numbers, int count)
{
	long sum = 0;

	for (int i = 0; i < count; i++)
		sum += numbers[i];
	return sum;
}

PROBED void driver_queue(void *request)
{
	work += request != NULL;
}

PROBED void driver_start(void *request)
{
	work += request != NULL;
}

PROBED void driver_done(void *request)
{
	work += request != NULL;
}

PROBED static void process_first(struct user *user)
{
	work += user != NULL;
	busy_for(10);
}

PROBED static void process_second(struct user *user)
{
	work -= user != NULL;
	busy_for(10);
}

void driver_set_process(struct user *user, int which)
{
	user->process = which == 0 ? process_first : process_second;
}

PROBED void driver_submit(struct user *user)
{
	work += user != NULL;
}

PROBED int driver_nested(int depth)
{
	busy_for(10);
	if (depth > 0)
		work += driver_nested(depth - 1);
	return depth;
}

PROBED static void take(int microseconds)
{
	busy_for(microseconds);
	work++;
}

PROBED void driver_relay(int microseconds)
{
	if (microseconds > 0)
		work++;
	take(microseconds);
}

PROBED void driver_state_idle(void)
{
	work++;
}

PROBED void driver_state_busy(void)
{
	work--;
}

PROBED static int twice(int number)
{
	work += number;
	return 2 * number;
}

int driver_twice(int number)
{
	return twice(number) + 1;
}

/* The rest is for IOCs. */

static void run(const char *name, int count, int number, const char *port, const char *device)
{
	static struct device of = {{0, 0}, NULL};
	static struct driver_block driver;
	static struct user user;
	char kept[64] = "";

	snprintf(driver.port.name, sizeof driver.port.name, "%s", port);
	snprintf(kept, sizeof kept, "%s", device);
	of.name = kept;
	driver.device = &of;
	for (int i = 0; i < count; i++) {
		if (!strcmp(name, "write")) {
			driver_write(&driver.port, number);
		} else if (!strcmp(name, "status")) {
			driver_status(i, number);
		} else if (!strcmp(name, "pairs")) {
			driver_queue(&user);
			usleep((useconds_t)number);
			driver_start(&user);
			driver_done(&user);
		} else if (!strcmp(name, "submit")) {
			driver_set_process(&user, number);
			driver_submit(&user);
			user.process(&user);
		} else if (!strcmp(name, "states")) {
			driver_state_idle();
			if (i % 2)
				driver_state_busy();
		} else if (!strcmp(name, "cxx")) {
			driver_set_value(number);
		} else if (!strcmp(name, "real")) {
			driver_set_real(number);
		} else if (!strcmp(name, "throw")) {
			driver_throw(i);
		}
	}
}

static void *serve(void *path)
{
	char line[256], name[32], port[64], device[64];
	int count, number;
	FILE *orders = fopen(path, "r+");

	if (!orders)
		return NULL;
	while (fgets(line, sizeof line, orders)) {
		port[0] = device[0] = 0;
		if (sscanf(line, "%31s %d %d %63s %63s", name, &count, &number, port, device) >= 3)
			run(name, count, number, port, device);
	}
	fclose(orders);
	return NULL;
}

__attribute__((constructor)) static void begin(void)
{
	static pthread_t thread;
	char *path = getenv("DRIVER");

	if (path)
		pthread_create(&thread, NULL, serve, path);
}
