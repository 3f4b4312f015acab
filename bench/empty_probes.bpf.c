// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/* An entry, a return and an end probe that do nothing: the floor below which no such tool can come. */
#include <linux/types.h>
#include <linux/ptrace.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("uprobe")
int empty_entry(struct pt_regs *ctx)
{
	(void)ctx;
	return 0;
}

SEC("uretprobe")
int empty_return(struct pt_regs *ctx)
{
	(void)ctx;
	return 0;
}

SEC("uprobe")
int empty_end(struct pt_regs *ctx)
{
	(void)ctx;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
