/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Where functions end: between src/elf/function_ends.cpp, which finds the places in their code, and
 * bpf/base/function_ends.bpf.h, whose programs stand there.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_FUNCTION_ENDS_H
#define IOC_EXPORTER_BPF_SHARED_FUNCTION_ENDS_H

#include <linux/types.h>

#define IOCX_MOST_ENDS 24         /* of one function */
#define IOCX_END_PLACE_MASK 0xfff /* the part of an address that is the same wherever the file is mapped */
#define IOCX_END_ALWAYS 16        /* a condition; lower ones are those of x86's conditional jumps */

/*
 * An instruction, mostly a jump, after which the function returns without calling anything more: when it is reached
 * and `condition` holds, the call is over.
 */
struct iocx_function_end {
	__u16 place;    /* its address & IOCX_END_PLACE_MASK */
	__u8 condition; /* under which the function ends here */
	__u8 pad;
	__u32 below; /* how far the stack pointer is below that at the function's entry */
};

struct iocx_function_ends {
	__u32 count;
	__u32 pad;
	struct iocx_function_end ends[IOCX_MOST_ENDS];
};

#endif
