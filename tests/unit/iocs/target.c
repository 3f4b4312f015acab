/*
 * A process for tests of the finder. It does what it reads, a line a command, and answers "ok".
 *   load PATH   dlopen              threads   four threads with an IOC's names
 *   exec PATH   become PATH         fork      a child with one thread that waits
 *   listen      on 127.0.0.1, answers "ok PORT"
 *   end_main    the main thread ends, another one obeys from then on
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tools/end_main.h"

#ifdef WITH_DBPROCESS
void *pdbbase;
unsigned short ca_server_port;
const char *volatile epics_version = "EPICS R3.15.9";
__attribute__((noinline, used)) long dbProcess(void *record);
long dbProcess(void *record)
{
	return record != 0;
}
static volatile int nPeriodic = 7;
__attribute__((noinline, used)) static int scanList(int n)
{
	return n + nPeriodic;
}
int dbPut(int n);
int dbPut(int n)
{
	return scanList(n);
}
#endif

static void *wait_forever(void *nothing)
{
	(void)nothing;
	for (;;)
		pause();
	return 0;
}

static void start_threads(void)
{
	static char names[4][16] = {"scanOnce", "cbLow", "CAS-TCP", "scan-0.1"};
	pthread_t thread;
	for (int i = 0; i < 4; ++i) {
		pthread_create(&thread, 0, wait_forever, 0);
		pthread_setname_np(thread, names[i]);
	}
}

static int listen_somewhere(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	const int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, 1) != 0)
		return -1;
	if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
		return -1;
	return ntohs(address.sin_port);
}

static int wait_in_child(void)
{
	const pid_t child = fork();
	if (child != 0)
		return (int)child;
	prctl(PR_SET_PDEATHSIG, 9);
	for (;;)
		pause();
}

static void obey(void)
{
	char line[4096];
	puts("ok");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) != 0) {
		int answer = 0;
		line[strcspn(line, "\n")] = 0;
		if (strncmp(line, "load ", 5) == 0)
			answer = dlopen(line + 5, RTLD_NOW | RTLD_GLOBAL) != 0;
		if (strncmp(line, "exec ", 5) == 0)
			execl(line + 5, line + 5, (char *)0);
		if (strcmp(line, "threads") == 0)
			start_threads();
		if (strcmp(line, "fork") == 0)
			answer = wait_in_child();
		if (strcmp(line, "listen") == 0)
			answer = listen_somewhere();
		if (strcmp(line, "end_main") == 0) {
			go_on_without_main(obey);
			pthread_exit(0);
		}
		printf("ok %d\n", answer);
		fflush(stdout);
	}
	exit(0);
}

int main(void)
{
	prctl(PR_SET_PDEATHSIG, 9);
	setvbuf(stdin, 0, _IONBF, 0);
	obey();
}
