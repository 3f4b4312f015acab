/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * What sets records off, for an IOC that is looked at in slices of time: in the slices each call is counted by what has
 * set it off, and in the pauses passes and writes are still counted, at one trap each, so that user space knows how many
 * calls they have made.
 */
#ifndef IOC_EXPORTER_BPF_RECORD_TRIGGERS_H
#define IOC_EXPORTER_BPF_RECORD_TRIGGERS_H

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOCX_MAX_TRIGGERS);
	__type(key, struct iocx_trigger_key);
	__type(value, struct iocx_trigger);
} record_triggers SEC(".maps");

/* A write processes its record at once: dbPutField, dbPutLink and others do that next. */
#define PUT_FOR_NS 100000000ULL

/* Returns 0 when there is no room for the IOC: it counts as if it never came. */
static __noinline int add_trigger(const struct iocx_trigger_key *key, const struct iocx_ioc_config *config)
{
	const struct iocx_record_share *held;
	struct iocx_trigger trigger = {};
	long err;

	if (!key || !config)
		return 0;
	trigger.holder = config->holder;
	held = share_at(trigger.holder.ioc);
	if (!held || (key->trigger & IOCX_TRIGGER_PUT &&
		      held->held[IOCX_SHARE_TRIGGERS] >= IOCX_MOST_TRIGGERS_OF_PUTS(cfg_room[IOCX_SHARE_TRIGGERS])))
		return 0;
	if (!take_record_share(IOCX_SHARE_TRIGGERS, trigger.holder.ioc, trigger.holder.user))
		return 0;
	err = bpf_map_update_elem(&record_triggers, key, &trigger, BPF_NOEXIST);
	if (err) /* that it is there: another thread was faster */
		give_record_share(IOCX_SHARE_TRIGGERS, trigger.holder.ioc, trigger.holder.user);
	return !err || err == -EEXIST;
}

/* Returns whether it is counted. */
static __noinline int count_trigger(__u32 slot, __u64 address)
{
	const struct iocx_ioc_config *config = bpf_map_lookup_elem(&ioc_config, &slot);
	struct iocx_trigger_key key = {.trigger = address, .slot = slot};
	struct iocx_trigger *trigger;

	if (!config)
		return 0;
	key.generation = config->generation;
	trigger = bpf_map_lookup_elem(&record_triggers, &key);
	if (!trigger && add_trigger(&key, config))
		trigger = bpf_map_lookup_elem(&record_triggers, &key);
	if (!trigger)
		return 0;
	trigger->last_ns = bpf_ktime_get_ns();
	__sync_fetch_and_add(&trigger->count, 1);
	return 1;
}

/* What the thread calls from now on is set off by this, until the function that was just entered returns. */
static __always_inline void begin_trigger(struct iocx_thread *thread, __u64 trigger, struct pt_regs *ctx)
{
	thread->triggers.trigger = trigger;
	thread->triggers.sp = PT_REGS_SP(ctx);
	thread->triggers.returns_to = return_address(ctx);
}

/* scanList() of events and of I/O interrupts. */
static __always_inline void pass_begins(struct iocx_thread *thread, __u64 list, struct pt_regs *ctx)
{
	begin_trigger(thread, count_trigger(thread->slot, list) ? list : 0, ctx);
}

static __always_inline void put_begins(struct iocx_thread *thread, __u64 record)
{
	const __u64 put = record | IOCX_TRIGGER_PUT;

	thread->triggers.put = count_trigger(thread->slot, put) ? put : 0;
	thread->triggers.put_ns = bpf_ktime_get_ns();
}

/* recGblFwdLink() of an asynchronous record. Completions are not counted: they are as many as its calls. */
static __always_inline void completion_begins(struct iocx_thread *thread, __u64 record, struct pt_regs *ctx)
{
	begin_trigger(thread, record | IOCX_TRIGGER_COMPLETION, ctx);
}

/* Of a call that no other makes. */
static __always_inline __u64 trigger_of_chain(const struct iocx_thread *thread, struct pt_regs *ctx)
{
	const struct iocx_thread_triggers *triggers = &thread->triggers;

	if (thread->cause == IOCX_CAUSE_SCAN)
		return IOCX_TRIGGER_SCAN(thread->owner);
	if (!triggers->trigger || PT_REGS_SP(ctx) >= triggers->sp)
		return 0;
	return return_is_gone(triggers->sp, triggers->returns_to, CALLERS(ctx)) ? 0 : triggers->trigger;
}

/*
 * What has set off a call of the record, which has no frame yet; 0: not known. A write to a record counts for what it
 * processes, also within another call: all writes are counted, whoever makes them.
 */
static __always_inline __u64 trigger_of_call(struct iocx_thread *thread, __u64 record, struct pt_regs *ctx)
{
	struct iocx_thread_triggers *triggers = &thread->triggers;
	__u64 put = triggers->put;
	__u32 depth = depth_of(thread);

	triggers->put = 0;
	if (depth == 0)
		triggers->of_chain = trigger_of_chain(thread, ctx);
	if (put == (record | IOCX_TRIGGER_PUT) && bpf_ktime_get_ns() - triggers->put_ns < PUT_FOR_NS) {
		triggers->within_put = put;
		triggers->put_depth = depth;
		return put;
	}
	if (triggers->within_put && depth > triggers->put_depth)
		return triggers->within_put;
	triggers->within_put = 0;
	return triggers->of_chain;
}

static __noinline int count_call_by_trigger(__u32 slot, __u64 record, __u64 trigger, __u32 epoch)
{
	struct iocx_record_stats *stats = stats_of(slot, record);
	struct iocx_record_triggers *of;
	__u32 i;

	if (!stats)
		return 0;
	of = &stats->triggers;
	if (of->trigger[0] == trigger)
		i = 0;
	else if (of->trigger[1] == trigger)
		i = 1;
	else {
		i = !(!of->trigger[0] || of->epoch[0] != epoch);
		if (i && of->trigger[1] && of->epoch[1] == epoch)
			return 0;
		of->calls[i] = 0;
		of->trigger[i] = trigger;
	}
	of->epoch[i] = epoch;
	of->calls[i] += 1;
	return 1;
}

/* At the entry of a call, which has no frame yet. Where it cannot be known, it is taken to do what it did last. */
static __noinline int note_trigger(struct pt_regs *ctx, struct iocx_thread *thread,
				   const struct iocx_ioc_config *config, __u64 record, __u32 verdict)
{
	__u64 trigger;

	if (!thread || !config || !ctx)
		return 0;
	if (verdict != PROCESSES && (verdict != UNDECIDED || was_disabled(config, record)))
		return 0;
	trigger = trigger_of_call(thread, record, ctx);
	return trigger ? count_call_by_trigger(thread->slot, record, trigger, config->epoch) : 0;
}

#endif
