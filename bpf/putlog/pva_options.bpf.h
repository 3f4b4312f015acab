/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* What the client asked for with its put by PV Access: to wait for the record, to process it. */
#ifndef IOC_EXPORTER_BPF_PUTLOG_PVA_OPTIONS_BPF_H
#define IOC_EXPORTER_BPF_PUTLOG_PVA_OPTIONS_BPF_H

/* Of processNotify, since Base 3.15.0.1. */
#define NOTIFY_PRIVATE 80 /* usrPvt */
#define NOTIFY_SIZE 88
/* Of QSRV 1: PVIF::proc_t. */
#define PROCESS_NOT_1 1
#define PROCESS_1 2
#define SINGLE_NOTIFY 120 /* PDBSinglePut.notify: behind it notifyBusy, doProc and doWait */
#define GROUP_OPTIONS 56  /* PDBGroupPut: atomic, doWait, doProc */
/* Of pvxs: TriState. */
#define PROCESS_2 1
#define PROCESS_NOT_2 2
#define CACHE_OF_PUT 16     /* what SingleSource gives to onPut(): the PutOperationCache, since pvxs 1.3 */
#define CACHE_NOTIFY 8      /* PutOperationCache: doWait, forceProcessing, notify */
#define OPTIONS_OF_GROUP 24 /* what GroupSource gives to onPut(), since pvxs 1.5.2: atomic, forceProcessing */

#define BITS_OF_OPTIONS 0xFFu
#define OF_GROUP 1ULL /* the address is of a group's */

static __always_inline __u32 option_bits(__u32 waits, __u32 process, __u32 yes, __u32 no)
{
	if (waits > 1 || process > 2)
		return 0;
	return (waits ? IOCX_PUTLOG_BLOCK : 0) | (process == yes ? IOCX_PUTLOG_PROCESS : 0) |
	       (process == no ? IOCX_PUTLOG_NO_PROCESS : 0);
}

/* Whether there is a processNotify that belongs to `owner`. */
static __always_inline int is_notify_of(__u64 notify, __u64 owner)
{
	__u64 found = 0;

	return !read_at(&found, sizeof found, notify + NOTIFY_PRIVATE) && found == owner;
}

/* Options of a put of QSRV 1. */
static __noinline __u64 qsrv1_options(__u64 put, int is_group)
{
	struct {
		__u8 is_atomic, waits, pad[2];
		__u32 process;
	} of_group = {};
	struct {
		__u32 busy, process;
		__u8 waits;
	} of_single = {};

	if (!cfg_putlog_bytes)
		return 0;
	if (is_group)
		return read_at(&of_group, sizeof of_group, put + GROUP_OPTIONS)
			       ? 0
			       : option_bits(of_group.waits, of_group.process, PROCESS_1, PROCESS_NOT_1) &
					 ~IOCX_PUTLOG_BLOCK; /* it never waits, whatever the client asks for */
	if (!is_notify_of(put + SINGLE_NOTIFY, put) || read_at(&of_single, 9, put + SINGLE_NOTIFY + NOTIFY_SIZE))
		return 0;
	return option_bits(of_single.waits, of_single.process, PROCESS_1, PROCESS_NOT_1);
}

/* Where QSRV 2 has them at the end of a put, by the std::function that it calls; 0: not known. */
static __noinline __u64 qsrv2_options(__u64 function, int is_group)
{
	__u64 functor = 0, cache = 0;

	if (!cfg_putlog_bytes || read_at(&functor, sizeof functor, function))
		return 0;
	if (is_group)
		return (functor + OPTIONS_OF_GROUP) | OF_GROUP;
	if (read_at(&cache, sizeof cache, functor + CACHE_OF_PUT) || !is_notify_of(cache + CACHE_NOTIFY, cache))
		return 0;
	return cache;
}

/* enum iocx_putlog_option of a put that ends. */
static __noinline __u32 options_of(const struct iocx_open_callback *put, const struct iocx_server_ioc *ioc)
{
	struct {
		__u8 waits, pad[3]; /* of a group: it is atomic */
		__u32 process;
	} of_qsrv2 = {};
	__u32 options = put->options & BITS_OF_OPTIONS;

	if (put->options > BITS_OF_OPTIONS) {
		options = read_at(&of_qsrv2, sizeof of_qsrv2, put->options & ~OF_GROUP)
				  ? 0
				  : option_bits(of_qsrv2.waits, of_qsrv2.process, PROCESS_2, PROCESS_NOT_2);
		if (put->options & OF_GROUP)
			options &= ~IOCX_PUTLOG_BLOCK;
	}
	return options | (ioc->reports_values && !put->value_lost ? IOCX_PUTLOG_VALUES : 0);
}

#endif
