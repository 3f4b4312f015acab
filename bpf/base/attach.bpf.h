/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Which attachment runs a program: one for the process or one for all (shared/attach.h). */
#ifndef IOC_EXPORTER_BPF_ATTACH_H
#define IOC_EXPORTER_BPF_ATTACH_H

#include "shared/attach.h"

/* Attachments have a cookie that says it: one program does for both. Else there is name_all beside name. */
const volatile __u32 cfg_cookies = 0;

/* `attach`: the kind that the program is for, without cookies. */
static __always_inline __u8 kind_of_attachment(void *ctx, __u8 attach)
{
	return cfg_cookies ? (__u8)bpf_get_attach_cookie(ctx) : attach;
}

#define ENTRY_PROGRAM(name, handler)                      \
	SEC("uprobe")                                     \
	int name(struct pt_regs *ctx)                     \
	{                                                 \
		return handler(ctx, IOCX_ATTACH_PROCESS); \
	}                                                 \
	SEC("uprobe")                                     \
	int name##_all(struct pt_regs *ctx)               \
	{                                                 \
		return handler(ctx, IOCX_ATTACH_ALL);     \
	}

#endif
