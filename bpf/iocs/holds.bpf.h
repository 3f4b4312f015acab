/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Hints that a process that user space names may be stopped or traced: a stop signal was sent to it, as PTRACE_ATTACH
 * does, or it reported to a parent or a tracer that it has stopped. User space then looks at the process, and need not
 * look all the time. Not seen: a tracer that lets it run (PTRACE_SEIZE), or does not want SIGCHLD.
 */
#ifndef IOC_EXPORTER_BPF_IOCS_HOLDS_H
#define IOC_EXPORTER_BPF_IOCS_HOLDS_H

__u64 hold_changes; /* how often */

/* The signals are numbered alike on all architectures that are supported (asm-generic/signal.h). */
SEC("raw_tp/signal_generate")
int signal_sent(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 tgid;

	switch ((int)ctx->args[0]) {
	case 17: /* SIGCHLD: do_notify_parent_cldstop() */
		tgid = bpf_get_current_pid_tgid() >> 32;
		break;
	case 19: /* SIGSTOP */
	case 20: /* SIGTSTP */
	case 21: /* SIGTTIN */
	case 22: /* SIGTTOU */
		tgid = BPF_CORE_READ((struct task_struct *)ctx->args[2], tgid);
		break;
	default:
		return 0;
	}
	if (bpf_map_lookup_elem(&ioc_exits, &tgid))
		__sync_fetch_and_add(&hold_changes, 1);
	return 0;
}

#endif
