// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * Counts the puts that an IOC's PV Access server was asked for, and those that it refused, with the names that the
 * server has for PV and client.
 *
 * QSRV 1: each put enters PDBSinglePut::put() or PDBGroupPut::put() (pva2pva), whose object leads to the channel with
 * its name and credentials; each answer goes to ServerChannelPutRequesterImpl::putDone() (pvAccess) with a status.
 * QSRV 2: each put is handed as an ExecOp, part of the API of pvxs, to the function that SingleSource or GroupSource
 * has given to onPut(); what fails ends in ServerGPRExec::error().
 *
 * Nothing here is taken on trust: each text must have the shape of one. Where it has not, a put is counted without its
 * client, or without names at all. So it is with QSRV 1 before Base 7.0.3.1, which knows no credentials.
 */
#include <linux/types.h>
#include <linux/ptrace.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <stddef.h>

#include "base/maps.bpf.h"
#include "shared/server_probe.h"
#include "shared/verifier.h"
#define SERVER_KEY struct iocx_pva_key
#define SERVER_INFO struct iocx_pva_key
#define SERVER_DROPS IOCX_PVA_DROPS
#include "puts/server_probe.bpf.h"
#include "puts/put_durations.bpf.h"
#include "puts/open_callbacks.bpf.h"
#include "puts/cxx.bpf.h"
#define TRACES_WITHOUT_CA
#include "traces/puts.bpf.h"
#include "traces/pva_put.bpf.h"

/* Of QSRV 1, with strings as before C++11; behind the name, all is further away by what a newer one is larger. */
#define PUT_CHANNEL 24  /* PDBSinglePut and PDBGroupPut: the channel's shared_ptr */
#define CHANNEL_NAME 24 /* BaseChannel.pvname */
#define SINGLE_USER 112 /* PDBSingleChannel.cred: user, host */
#define GROUP_USER 136  /* PDBGroupChannel.cred: the same */
#define STATUS_TYPE 8   /* Status: OK, WARNING, ERROR, FATAL; and its message */
#define STATUS_MESSAGE 16
#define FIRST_ERROR 2
/* Of pvxs: OpBase, then its name; shared_ptr to ClientCredentials and type follow. */
#define OPERATION_NAME 8
#define TYPE_AFTER_CREDENTIALS 16
#define TYPE_PUT 3

static __always_inline __u32 holder_of_client(const struct iocx_pva_key *key)
{
	const __u32 *words = (const __u32 *)key->peer;
	__u32 hash = key->generation;

#pragma unroll
	for (int i = 0; i < IOCX_PVA_PEER / 4; i++)
		hash = (hash ^ words[i]) * 0x9E3779B1u;
	return IOCX_SERVER_HELD_CLIENT + (hash >> 20) % IOCX_SERVER_CLIENT_BUCKETS;
}

#include "putlog/pva.bpf.h"
#include "puts/pva_ends.bpf.h"
#include "putlog/pva_writes.bpf.h"

static __always_inline __u32 *slot_of(const struct iocx_pva_key *key)
{
	return bpf_map_lookup_elem(&slot_by_key, key);
}

/* The slot of the key plus 1, taken when there was none; 0: there is no room for one. */
static __noinline __u32 find_or_take_slot(const struct iocx_pva_key *key, const struct iocx_server_ioc *ioc)
{
	const __u32 *found = slot_of(key);
	struct iocx_server_slot *slot;
	struct iocx_pva_key *info;
	__u32 client, index;

	if (found)
		return *found + 1;
	client = holder_of_client(key);
	slot = take_free_slot(ioc, client, &index, &info);
	if (!slot)
		return 0;
	bpf_probe_read_kernel(info, sizeof *info, key);
	slot->who.generation = key->generation;
	if (!publish_slot(key, slot, index, ioc, client))
		return index + 1;
	found = slot_of(key);
	return found ? *found + 1 : 0;
}

static __always_inline int take_text(char *to, __u32 size, const struct cxx_text *text, int *cut)
{
	if (copy_text(to, size, text) < 0)
		return 0;
	*cut |= text->length >= size;
	return 1;
}

/*
 * Takes a std::string, which is so large: 0, there is none. Not inlined, as some others: the key is on the stack, and
 * the variables of each of these functions would be beside it.
 */
static __noinline __u32 take_string(char *to, __u32 size, __u64 string, int *cut)
{
	struct cxx_text text;

	return find_text(&text, string) && take_text(to, size, &text, cut) ? text.size : 0;
}

static __noinline int take_vector(char *to, __u32 size, __u64 vector, int *cut)
{
	struct cxx_text text;

	return find_vector_text(&text, vector) && take_text(to, size, &text, cut);
}

/* The slot for what a put is known by, plus 1; 0: none. `known`: all that it needs. */
static __always_inline __u32 slot_for(const struct iocx_server_ioc *ioc, struct iocx_pva_key *key, int known, int cut)
{
	__u32 index;

	key->generation = ioc->generation;
	if (!known) {
		if (!key->name[0])
			return 0;
		add_to_counter(&server_drops, IOCX_SERVER_DROP_UNREADABLE, 1);
	}
	index = find_or_take_slot(key, ioc);
	if (index && cut)
		add_to_counter(&server_drops, IOCX_SERVER_DROP_CUT, 1);
	return index;
}

/* Why there is none. */
static __always_inline __u32 drop_of(const struct iocx_pva_key *key)
{
	return key->name[0] ? IOCX_SERVER_DROP_FULL : IOCX_SERVER_DROP_UNREADABLE;
}

static __always_inline int count_asked(const struct iocx_server_ioc *ioc, struct iocx_pva_key *key, int known, int cut,
				       int is_group, __u64 options)
{
	const __u32 index = slot_for(ioc, key, known, cut) - 1;
	struct iocx_server_slot *const slot = bpf_map_lookup_elem(&server_slots, &index);
	const __u64 now = bpf_ktime_get_ns();

	if (slot)
		add_put(slot, 0);
	else
		count_remainder(ioc, 0, drop_of(key));
	begin_put(slot, index, now, options);
	if (cfg_traces)
		trace_pva_put(key);
	on_put(key, slot, ioc, index, now, is_group);
	return 0;
}

/* Not inlined: beside the key there is no room for what this has on the stack. */
static __noinline int fail_slot(__u32 index, __u32 failure, const struct iocx_server_ioc *ioc,
				const struct iocx_pva_key *key)
{
	struct iocx_server_result *const result = bpf_map_lookup_elem(&slot_results, &index);

	if (result) {
		add_failure(result->failures, failure);
		return 0;
	}
	add_to_counter(&server_drops, drop_of(key), 1);
	fail_remainder(ioc, failure);
	return 0;
}

static __always_inline int count_failed(const struct iocx_server_ioc *ioc, struct iocx_pva_key *key, __u32 failure,
					int known, int cut)
{
	return fail_slot(slot_for(ioc, key, known, cut) - 1, failure, ioc, key);
}

/* Whether the channel of QSRV 1 that `put` is for, of one kind, names client and PV. */
static __always_inline int read_qsrv1(struct iocx_pva_key *key, __u64 put, __u32 user, int *cut)
{
	__u64 channel = 0;
	__u32 size;

	if (read_at(&channel, sizeof channel, put + PUT_CHANNEL))
		return 0;
	size = take_string(key->name, sizeof key->name, channel + CHANNEL_NAME, cut);
	channel += user + size - CXX_OLD_STRING;
	return size && take_vector(key->peer, sizeof key->peer, channel + sizeof(struct cxx_vector), cut) &&
	       take_vector(key->user, sizeof key->user, channel, cut);
}

static __always_inline int on_qsrv1_put(struct pt_regs *ctx, __u32 user, int is_group)
{
	const struct iocx_server_ioc *ioc = current_ioc();
	struct iocx_pva_key key = {};
	int known, cut = 0;

	if (!ioc)
		return 0;
	known = read_qsrv1(&key, PT_REGS_PARM1(ctx), user, &cut);
	return count_asked(ioc, &key, known, cut, is_group, qsrv1_options(PT_REGS_PARM1(ctx), is_group));
}

/* PDBSinglePut::put(value, changed) */
PROGRAM(pva_single_put)
{
	return on_qsrv1_put(ctx, SINGLE_USER, 0);
}

/* PDBGroupPut::put(value, changed) */
PROGRAM(pva_group_put)
{
	return on_qsrv1_put(ctx, GROUP_USER, 1);
}

/* Whether `text`, which is as long, begins with the literal: a loop that the compiler unrolls, without a stack. */
#define BEGINS_WITH(text, literal)                                                             \
	({                                                                                     \
		int other_ = 0;                                                                \
		_Pragma("unroll") for (__u32 i_ = 0; i_ < sizeof(literal) - 1; i_++) other_ |= \
			(text)[i_] ^ (literal)[i_];                                            \
		!other_;                                                                       \
	})

/*
 * Why a put has failed, by the words of both servers; the latter are for a group of QSRV 1. Both kinds of std::string begin
 * with the pointer to their characters.
 */
static __noinline __u32 kind_of_failure(__u64 string)
{
	char text[16] = {}; /* more has no room on the stack */
	__u64 at = 0;

	if (read_at(&at, sizeof at, string) || bpf_probe_read_user_str(text, sizeof text, (const void *)(long)at) < 0)
		return IOCX_FAILED_PUT_FAILED;
	return BEGINS_WITH(text, "Put not permitt") || BEGINS_WITH(text, "Process not per")
		       ? IOCX_FAILED_NO_WRITE_ACCESS
		       : IOCX_FAILED_PUT_FAILED;
}

/*
 * A group's channel has a vector of 32-byte things where that of a single PV has the user's name: they begin with a
 * pointer, so that a name there would end before it is as long.
 */
static __noinline int is_group(__u64 put)
{
	struct cxx_text name = {};
	struct cxx_vector it = {};
	__u64 channel = 0;
	char first[8] = {};
	long length;

	if (read_at(&channel, sizeof channel, put + PUT_CHANNEL) || !find_text(&name, channel + CHANNEL_NAME) ||
	    read_at(&it, sizeof it, channel + SINGLE_USER + name.size - CXX_OLD_STRING) || (it.end - it.begin) % 32)
		return 0;
	length = bpf_probe_read_user_str(first, sizeof first, (const void *)(long)it.begin);
	return it.begin == it.end || (length >= 0 && length < (long)sizeof first);
}

/* Ends a put of QSRV 1 with that status. The kind of its failure; IOCX_FAILURES: none. */
static __noinline __u32 end_qsrv1(__u64 status)
{
	__u32 type = 0, kind;

	if (read_at(&type, sizeof type, status + STATUS_TYPE) || type >= FIRST_ERROR)
		kind = kind_of_failure(status + STATUS_MESSAGE);
	else
		kind = IOCX_FAILURES;
	end_put(kind);
	return kind;
}

/* ServerChannelPutRequesterImpl::putDone(status, channelPut) */
PROGRAM(pva_put_done)
{
	const __u32 kind = end_qsrv1(PT_REGS_PARM2(ctx));
	const struct iocx_server_ioc *ioc = kind < IOCX_FAILURES ? current_ioc() : 0;
	struct iocx_pva_key key = {};
	int known, cut = 0;
	__u64 put = 0;

	if (!ioc)
		return 0;
	known = !read_at(&put, sizeof put, PT_REGS_PARM3(ctx)) &&
		read_qsrv1(&key, put, is_group(put) ? GROUP_USER : SINGLE_USER, &cut);
	return count_failed(ioc, &key, kind, known, cut);
}

/* 1: it is, else 0; the compiler makes no branch of it. */
static __always_inline __u32 is_colon(char character)
{
	__u32 is = (((__u32)(__u8)character ^ ':') - 1) >> 31;

	asm volatile("" : "+r"(is));
	return is;
}

/*
 * Removes the port, which differs for each connection of a client: each would take an entry. Without branches, each of
 * which would double the verifier's work.
 */
static __noinline int cut_port(char *peer)
{
	__u32 keep = 1;

	for (__u32 i = 0; i < IOCX_PVA_PEER; i++)
		keep &= is_colon(peer[i]) ^ 1;
	for (__u32 i = IOCX_PVA_PEER - 1; i > 0; i--) { /* from the last colon on, if there is one */
		const __u32 is_last = is_colon(peer[i]);

		peer[i] = (char)(peer[i] & -keep);
		keep |= is_last;
	}
	return (int)keep; /* 1; a constant would leave the stack pointer in r0, which the verifier forbids */
}

/* Whether the ExecOp of pvxs names client and PV. `type`: of the operation, 0: not known. */
static __always_inline int read_qsrv2(struct iocx_pva_key *key, __u64 operation, __u32 *type, int *cut)
{
	const __u32 size = take_string(key->name, sizeof key->name, operation + OPERATION_NAME, cut);
	__u64 credentials = 0;

	operation += OPERATION_NAME + size;
	return size && !read_at(&credentials, sizeof credentials, operation) &&
	       !read_at(type, sizeof *type, operation + TYPE_AFTER_CREDENTIALS) &&
	       take_string(key->peer, sizeof key->peer, credentials, cut) && cut_port(key->peer) &&
	       take_string(key->method, sizeof key->method, credentials + 2 * size, cut) &&
	       take_string(key->user, sizeof key->user, credentials + 3 * size, cut);
}

/* std::function<void(std::unique_ptr<ExecOp> &&, Value &&)>, as it is called */
static __always_inline int on_qsrv2_put(struct pt_regs *ctx, int is_group)
{
	const struct iocx_server_ioc *ioc = current_ioc();
	struct iocx_pva_key key = {};
	__u64 operation = 0;
	int known, cut = 0;
	__u32 type = 0;

	if (!ioc)
		return 0;
	known = !read_at(&operation, sizeof operation, PT_REGS_PARM2(ctx)) && read_qsrv2(&key, operation, &type, &cut);
	return count_asked(ioc, &key, known, cut, is_group, qsrv2_options(PT_REGS_PARM1(ctx), is_group));
}

PROGRAM(pva_on_put)
{
	return on_qsrv2_put(ctx, 0);
}

PROGRAM(pva_on_group_pt)
{
	return on_qsrv2_put(ctx, 1);
}

/* ServerGPRExec::reply(), without a value: the end of a put */
PROGRAM(pva_reply)
{
	(void)ctx;
	return end_put(IOCX_FAILURES);
}

/* ServerGPRExec::error(message): also of gets and RPCs */
PROGRAM(pva_error)
{
	const struct iocx_server_ioc *ioc = current_ioc();
	struct iocx_pva_key key = {};
	int known, cut = 0;
	__u32 type = 0, kind;

	if (!ioc)
		return 0;
	known = read_qsrv2(&key, PT_REGS_PARM1(ctx), &type, &cut);
	if (type != TYPE_PUT)
		return 0;
	kind = kind_of_failure(PT_REGS_PARM2(ctx));
	end_put(kind);
	return count_failed(ioc, &key, kind, known, cut);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
