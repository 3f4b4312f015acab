/*
 * Runs a command under a process id of one's choice, which must be free: run_as_pid PID COMMAND...
 * Ends with it, and it with this. For tests of what happens when the kernel gives a pid out again. Needs
 * clone3 with set_tid (Linux 5.5) and CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN; status 77: this kernel or
 * user cannot.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	pid_t wanted = argc > 2 ? atoi(argv[1]) : 0;
	struct clone_args how;
	int status = 0;
	long child;

	if (wanted <= 0) {
		fprintf(stderr, "usage: run_as_pid PID COMMAND...\n");
		return 2;
	}
	memset(&how, 0, sizeof how);
	how.exit_signal = SIGCHLD;
	how.set_tid = (unsigned long)&wanted;
	how.set_tid_size = 1;
	child = syscall(SYS_clone3, &how, sizeof how);
	if (child < 0) {
		int cannot = errno == ENOSYS || errno == E2BIG || errno == EPERM;

		fprintf(stderr, "run_as_pid: make a process with pid %d: %s\n", wanted, strerror(errno));
		return cannot ? 77 : 1;
	}
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execvp(argv[2], argv + 2);
		fprintf(stderr, "run_as_pid: run %s: %s\n", argv[2], strerror(errno));
		_exit(127);
	}
	if (waitpid((pid_t)child, &status, 0) != child)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
