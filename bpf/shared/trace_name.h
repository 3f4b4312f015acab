/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* A number for the name of a PV, the same for both ends of a link. "X" and "X.VAL" are one PV. */
#ifndef IOC_EXPORTER_BPF_SHARED_TRACE_NAME_H
#define IOC_EXPORTER_BPF_SHARED_TRACE_NAME_H

#include <linux/types.h>

struct iocx_trace_name {
	__u64 hash;
	__u64 before[4]; /* what it was 1 to 4 characters ago */
	__u32 last;      /* the last four characters */
	__u32 pad;
};

#define IOCX_TRACE_NAME_START                      \
	{                                          \
		14695981039346656037ULL, {0}, 0, 0 \
	}
#define IOCX_TRACE_NAME_VAL 0x2E56414Cu /* ".VAL" */

/* FNV-1a. */
static inline __attribute__((always_inline)) void iocx_trace_name_add(struct iocx_trace_name *name, char character)
{
	name->before[3] = name->before[2];
	name->before[2] = name->before[1];
	name->before[1] = name->before[0];
	name->before[0] = name->hash;
	name->hash = (name->hash ^ (__u8)character) * 1099511628211ULL;
	name->last = name->last << 8 | (__u8)character;
}

/* Up to the zero byte, or to `most` characters. */
static inline __attribute__((always_inline)) void iocx_trace_name_add_text(struct iocx_trace_name *name,
									   const char *text, __u32 most)
{
	__u32 i;

	for (i = 0; i < most; i++) {
		if (!text[i])
			return;
		iocx_trace_name_add(name, text[i]);
	}
}

/* Never 0. */
static inline __attribute__((always_inline)) __u64 iocx_trace_name_end(const struct iocx_trace_name *name)
{
	return (name->last == IOCX_TRACE_NAME_VAL ? name->before[3] : name->hash) | 1;
}

#endif
