// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * Exit status of the processes that user space names, as their parent's wait(2) gets it, and CPU time of their threads
 * that end.
 *
 * Before Linux 6.15 the kernel gives the status to the parent only. Reads structs of the kernel; the offsets of their
 * members come from the kernel's BTF (CO-RE). The members are the same from 5.10 on.
 */
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "base/maps.bpf.h"
#include "shared/ioc_exit.h"

#define SIGNAL_GROUP_EXIT 4 /* include/linux/sched/signal.h */

struct live_count { /* atomic_t, whose name the headers have taken */
	int counter;
} __attribute__((preserve_access_index));

struct signal_struct {
	struct live_count live; /* threads that have not ended: do_exit() takes itself off before the tracepoint */
	int group_exit_code;
	unsigned int flags;
} __attribute__((preserve_access_index));

struct sched_entity {
	__u64 sum_exec_runtime; /* ns, what the kernel adds to the process' when the thread is gone */
} __attribute__((preserve_access_index));

struct task_struct {
	struct sched_entity se;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	int exit_code; /* of the thread */
} __attribute__((preserve_access_index));

MAP(ioc_exits, HASH, IOCX_EXIT_PROCESSES, __u32, struct iocx_ioc_exit); /* process id, in the initial namespace */

static __always_inline void add_cpu(struct iocx_ioc_exit *exit, const struct task_struct *task)
{
	const __u64 thread = bpf_get_current_pid_tgid();
	char comm[IOCX_COMM_SIZE] = {};
	__u32 class = IOCX_THREAD_MAIN;

	if ((__u32)thread != thread >> 32) {
		bpf_get_current_comm(comm, sizeof(comm));
		class = iocx_thread_class_of(comm);
	}
	if (class < IOCX_THREAD_CLASSES)
		__sync_fetch_and_add(&exit->cpu_ns[class], BPF_CORE_READ(task, se.sum_exec_runtime));
}

SEC("raw_tp/sched_process_exit")
int process_exit(struct bpf_raw_tracepoint_args *ctx)
{
	const __u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct iocx_ioc_exit *exit = bpf_map_lookup_elem(&ioc_exits, &tgid);
	struct task_struct *task;
	struct signal_struct *signal;

	if (!exit)
		return 0;
	task = (struct task_struct *)ctx->args[0];
	add_cpu(exit, task);
	signal = BPF_CORE_READ(task, signal);
	if (BPF_CORE_READ(signal, live.counter) != 0)
		return 0; /* others of its threads run on */
	/* As wait_task_zombie() has it (kernel/exit.c). */
	if (BPF_CORE_READ(signal, flags) & SIGNAL_GROUP_EXIT)
		exit->status = BPF_CORE_READ(signal, group_exit_code);
	else
		exit->status = BPF_CORE_READ(task, group_leader, exit_code);
	/* Two threads that end together may both see none left, and write nearly the same. The addition is an ordered store. */
	__sync_fetch_and_add(&exit->ended, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
