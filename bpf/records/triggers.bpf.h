/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Counts what sets records off, for an IOC that is looked at in slices of time: in the slices user space learns how often
 * a record processes for each of them, and in the pauses these are still counted, at one trap each. Passes through
 * periodic lists are those of scan_lists.
 */
#ifndef IOC_EXPORTER_BPF_RECORD_TRIGGERS_H
#define IOC_EXPORTER_BPF_RECORD_TRIGGERS_H

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IOCX_MAX_TRIGGERS);
	__type(key, struct iocx_trigger_key);
	__type(value, struct iocx_trigger);
} record_triggers SEC(".maps");

/* Returns 0 when there is no room for the IOC: it counts as if it never came. */
static __noinline int add_trigger(const struct iocx_trigger_key *key, const struct iocx_ioc_config *config)
{
	struct iocx_trigger trigger = {};
	long err;

	if (!key || !config)
		return 0;
	trigger.holder = config->holder;
	if (!take_record_share(IOCX_SHARE_TRIGGERS, trigger.holder.ioc, trigger.holder.user))
		return 0;
	err = bpf_map_update_elem(&record_triggers, key, &trigger, BPF_NOEXIST);
	if (err) /* that it is there: another thread was faster */
		give_record_share(IOCX_SHARE_TRIGGERS, trigger.holder.ioc, trigger.holder.user);
	return !err || err == -EEXIST;
}

static __noinline int count_trigger(__u32 slot, __u64 address)
{
	const struct iocx_ioc_config *config = bpf_map_lookup_elem(&ioc_config, &slot);
	struct iocx_trigger_key key = {.address = address, .slot = slot};
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

#endif
