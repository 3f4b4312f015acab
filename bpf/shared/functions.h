/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The wire format between bpf/functions/functions.bpf.c and src/functions: described functions of IOCs, what is read of
 * their calls, and the counts. Fixed-width types, padding as named fields; C++ asserts sizes and offsets.
 */
#ifndef IOC_EXPORTER_BPF_SHARED_FUNCTIONS_H
#define IOC_EXPORTER_BPF_SHARED_FUNCTIONS_H

#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IOCX_FUNCTION_ARGUMENTS 6 /* that are in registers, on every processor */
#define IOCX_FUNCTION_LOADS 5     /* pointers that are followed to one value */
#define IOCX_FUNCTION_LABELS 4    /* of one function, that are read at its calls */
#define IOCX_FUNCTION_TEXT 96     /* bytes of a text, its zero byte included */
#define IOCX_FUNCTION_WORDS 16    /* of 8 bytes: all labels of one function */
#define IOCX_FUNCTION_FEW_WORDS 2 /* that fit into the smaller key */

/* Start of a value: an argument's number, or this. */
#define IOCX_FUNCTION_RETURN IOCX_FUNCTION_ARGUMENTS

enum iocx_function_kind {
	IOCX_FUNCTION_NOTHING,
	IOCX_FUNCTION_NUMBER, /* the value itself; when its last step is a load, `size` bytes of memory */
	IOCX_FUNCTION_STRING  /* the text that stands at the value, shorter than `size` bytes */
};

/*
 * A program that computes one value: v = argument; for each load, v = the pointer at v + by[load]; then v += the last
 * `by`. The last load of a number reads `size` bytes.
 */
struct iocx_function_value {
	__u8 kind;      /* enum iocx_function_kind */
	__u8 root;      /* argument, or IOCX_FUNCTION_RETURN */
	__u8 loads;     /* at most IOCX_FUNCTION_LOADS */
	__u8 size;      /* bytes: 1, 2, 4 or 8 of a number */
	__u8 is_signed; /* of a number */
	__u8 word;      /* a label's place in the key */
	__u8 pad[2];
	__s32 by[IOCX_FUNCTION_LOADS + 1];
};

#ifdef __cplusplus
}
#endif

#endif
