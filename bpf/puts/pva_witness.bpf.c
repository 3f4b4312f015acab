// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * Counts the puts that an IOC's PV Access server was asked for, and those that it refused, with the names that the
 * server has for PV and client.
 *
 * QSRV 1: each put enters PDBSinglePut::put() or PDBGroupPut::put() (pva2pva), whose object leads to the channel with
 * its name and credentials; each answer is told to ServerChannelPutRequesterImpl::putDone() (pvAccess) with a status.
 * QSRV 2: each put is handed as an ExecOp, part of the API of pvxs, to the function that SingleSource or GroupSource
 * has given to onPut(); what fails ends in ServerGPRExec::error().
 *
 * Nothing here is taken on trust: each text must have the shape of one. Where it has not, a put is counted without who
 * asked for it, or without names at all. So it is with QSRV 1 before Base 7.0.3.1, which knows no credentials.
 */
#include <linux/types.h>
#include <linux/ptrace.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <stddef.h>

#include "base/maps.bpf.h"
#include "putlog/events.bpf.h"
#include "puts/cxx.bpf.h"
#include "shared/pva_witness.h"
#include "putlog/pva.bpf.h"
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

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOCX_PVA_IOCS);
	__type(key, __u32); /* process id, in the initial namespace */
	__type(value, struct iocx_pva_ioc);
} pva_iocs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOCX_PVA_PUTS);
	__type(key, struct iocx_pva_key);
	__type(value, struct iocx_pva_put);
} pva_puts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, IOCX_PVA_HOLDERS);
	__type(key, __u32);
	__type(value, struct iocx_pva_holder);
} pva_holders SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IOCX_PVA_DROPS);
	__type(key, __u32);
	__type(value, __u64);
} pva_drops SEC(".maps");

static __always_inline const struct iocx_pva_ioc *this_ioc(void)
{
	const __u32 tgid = bpf_get_current_pid_tgid() >> 32;

	return bpf_map_lookup_elem(&pva_iocs, &tgid);
}

static __always_inline void add(struct iocx_pva_counts *to, __u32 count)
{
	__sync_fetch_and_add(&to->counts[count], 1);
	if (count == IOCX_PVA_ASKED)
		to->last_put = bpf_ktime_get_ns();
}

static __always_inline struct iocx_pva_holder *holder_at(__u32 index)
{
	return bpf_map_lookup_elem(&pva_holders, &index);
}

static __always_inline __u32 held(const struct iocx_pva_holder *holder)
{
	return holder->added - holder->freed;
}

static __always_inline __u32 bucket_of_client(const struct iocx_pva_key *key)
{
	const __u32 *words = (const __u32 *)key->peer;
	__u32 hash = key->generation;

#pragma unroll
	for (int i = 0; i < IOCX_PVA_PEER / 4; i++)
		hash = (hash ^ words[i]) * 0x9E3779B1u;
	return IOCX_PVA_HOLDER_CLIENT + (hash >> 20) % IOCX_PVA_CLIENT_BUCKETS;
}

static __noinline struct iocx_pva_put *add_put(const struct iocx_pva_key *key, const struct iocx_pva_ioc *ioc)
{
	struct iocx_pva_put fresh = {.holder = ioc->holder, .user = ioc->user};
	struct iocx_pva_holder *all, *user, *own, *client;

	fresh.client = bucket_of_client(key);
	all = holder_at(IOCX_PVA_HOLDER_ALL);
	user = holder_at(fresh.user);
	own = holder_at(fresh.holder);
	client = holder_at(fresh.client);
	if (!all || !user || !own || !client || !iocx_pva_may(held(all), held(user), held(own), held(client)))
		return 0;
	if (!bpf_map_update_elem(&pva_puts, key, &fresh, BPF_NOEXIST)) {
		__sync_fetch_and_add(&all->added, 1);
		__sync_fetch_and_add(&user->added, 1);
		__sync_fetch_and_add(&own->added, 1);
		__sync_fetch_and_add(&client->added, 1);
	}
	return bpf_map_lookup_elem(&pva_puts, key);
}

static __always_inline void count_rest(const struct iocx_pva_ioc *ioc, __u32 count)
{
	struct iocx_pva_holder *own = holder_at(ioc->holder);

	if (own)
		add(&own->rest, count);
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
 * what each of these has there would be beside it.
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

static __always_inline int count_put(const struct iocx_pva_ioc *ioc, struct iocx_pva_key *key, __u32 count, int known,
				     int cut)
{
	struct iocx_pva_put *put;

	key->generation = ioc->generation;
	if (!known) { /* who: then the PV alone, which may be known */
		add_to_counter(&pva_drops, IOCX_PVA_DROP_UNREADABLE, 1);
		__builtin_memset(key->user, 0, sizeof *key - offsetof(struct iocx_pva_key, user));
		if (!key->name[0]) {
			count_rest(ioc, count);
			return 0;
		}
	}
	put = bpf_map_lookup_elem(&pva_puts, key);
	if (!put)
		put = add_put(key, ioc);
	if (!put) {
		add_to_counter(&pva_drops, IOCX_PVA_DROP_FULL, 1);
		count_rest(ioc, count);
		return 0;
	}
	if (cut)
		add_to_counter(&pva_drops, IOCX_PVA_DROP_CUT, 1);
	add(&put->counts, count);
	return 0;
}

static __always_inline int count_asked(const struct iocx_pva_ioc *ioc, struct iocx_pva_key *key, int known, int cut)
{
	count_put(ioc, key, IOCX_PVA_ASKED, known, cut);
	if (cfg_traces)
		trace_pva_put(key);
	if (cfg_putlog_bytes)
		putlog_pva(key, bucket_of_client(key));
	return 0;
}

/* Whether the channel of QSRV 1 that `put` is for, of one kind, says who writes to what. */
static __always_inline int read_qsrv1(struct iocx_pva_key *key, __u64 put, __u32 user, int *cut)
{
	__u64 channel = 0;
	__u32 size;

	if (read_at(&channel, sizeof channel, put + PUT_CHANNEL))
		return 0;
	size = take_string(key->name, sizeof key->name, channel + CHANNEL_NAME, cut);
	channel += user + size - CXX_OLD_STRING;
	return size && take_vector(key->user, sizeof key->user, channel, cut) &&
	       take_vector(key->peer, sizeof key->peer, channel + sizeof(struct cxx_vector), cut);
}

static __always_inline int on_qsrv1_put(struct pt_regs *ctx, __u32 user)
{
	const struct iocx_pva_ioc *ioc = this_ioc();
	struct iocx_pva_key key = {};
	int known, cut = 0;

	if (!ioc)
		return 0;
	known = read_qsrv1(&key, PT_REGS_PARM1(ctx), user, &cut);
	return count_asked(ioc, &key, known, cut);
}

/* PDBSinglePut::put(value, changed) */
SEC("uprobe")
int pva_single_put(struct pt_regs *ctx)
{
	return on_qsrv1_put(ctx, SINGLE_USER);
}

/* PDBGroupPut::put(value, changed) */
SEC("uprobe")
int pva_group_put(struct pt_regs *ctx)
{
	return on_qsrv1_put(ctx, GROUP_USER);
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
	char text[24] = {};
	__u64 at = 0;

	if (read_at(&at, sizeof at, string) || bpf_probe_read_user_str(text, sizeof text, (const void *)(long)at) < 0)
		return IOCX_PVA_FAILED;
	return BEGINS_WITH(text, "Put not permitted") || BEGINS_WITH(text, "Process not permitted") ? IOCX_PVA_REFUSED
												    : IOCX_PVA_FAILED;
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

/* ServerChannelPutRequesterImpl::putDone(status, channelPut) */
SEC("uprobe")
int pva_put_done(struct pt_regs *ctx)
{
	const __u64 status = PT_REGS_PARM2(ctx);
	const struct iocx_pva_ioc *ioc;
	struct iocx_pva_key key = {};
	int known, cut = 0;
	__u32 type = 0, kind;
	__u64 put = 0;

	if (!read_at(&type, sizeof type, status + STATUS_TYPE) && type < FIRST_ERROR)
		return 0;
	ioc = this_ioc();
	if (!ioc)
		return 0;
	kind = kind_of_failure(status + STATUS_MESSAGE);
	known = !read_at(&put, sizeof put, PT_REGS_PARM3(ctx)) &&
		read_qsrv1(&key, put, is_group(put) ? GROUP_USER : SINGLE_USER, &cut);
	return count_put(ioc, &key, kind, known, cut);
}

/* 1: it is, else 0; the compiler makes no branch of it. */
static __always_inline __u32 is_colon(char character)
{
	__u32 is = (((__u32)(__u8)character ^ ':') - 1) >> 31;

	asm volatile("" : "+r"(is));
	return is;
}

/*
 * The port is another for each connection of a client, and nobody asks for it: each would take an entry. Without a
 * branch, each of which would double what the verifier reads.
 */
static __noinline int cut_port(char *peer)
{
	__u32 keep = 1;

	for (__u32 i = 0; i < IOCX_PVA_PEER; i++)
		keep &= is_colon(peer[i]) ^ 1;
	for (__u32 i = IOCX_PVA_PEER - 1; i > 0; i--) { /* what is behind the last colon, if there is one */
		const __u32 is_last = is_colon(peer[i]);

		peer[i] = (char)(peer[i] & -keep);
		keep |= is_last;
	}
	return (int)keep; /* 1; a constant would leave the stack pointer in r0, which the verifier forbids */
}

/* Whether the ExecOp of pvxs says who writes to what. `type`: of the operation, 0: not known. */
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
SEC("uprobe")
int pva_on_put(struct pt_regs *ctx)
{
	const struct iocx_pva_ioc *ioc = this_ioc();
	struct iocx_pva_key key = {};
	__u64 operation = 0;
	int known, cut = 0;
	__u32 type = 0;

	if (!ioc)
		return 0;
	known = !read_at(&operation, sizeof operation, PT_REGS_PARM2(ctx)) && read_qsrv2(&key, operation, &type, &cut);
	return count_asked(ioc, &key, known, cut);
}

/* ServerGPRExec::error(message): also of gets and RPCs */
SEC("uprobe")
int pva_error(struct pt_regs *ctx)
{
	const struct iocx_pva_ioc *ioc = this_ioc();
	struct iocx_pva_key key = {};
	int known, cut = 0;
	__u32 type = 0;

	if (!ioc)
		return 0;
	known = read_qsrv2(&key, PT_REGS_PARM1(ctx), &type, &cut);
	if (type != TYPE_PUT)
		return 0;
	return count_put(ioc, &key, kind_of_failure(PT_REGS_PARM2(ctx)), known, cut);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
