/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The series of a call, by its labels. A series takes its place when its labels are seen for the first time; where
 * there is no room, the call counts in that of the function itself.
 */
#ifndef IOC_EXPORTER_BPF_FUNCTIONS_SERIES_H
#define IOC_EXPORTER_BPF_FUNCTIONS_SERIES_H

/* The key on the stack, and room behind it that makes each place and size of a text one within it. */
struct key_on_stack {
	struct iocx_function_key key;
	__u64 behind[IOCX_FUNCTION_TEXT / 8 + 1];
};

static const char no_text[IOCX_FUNCTION_TEXT + 1];

/* Whether the label was read into the key; else its words are zeros. */
static __always_inline int read_label(struct pt_regs *ctx, const struct iocx_function_value *value,
				      struct key_on_stack *made)
{
	__u64 word = value->word, address, number;
	__u32 size = value->size;
	char *to;

	if (word >= IOCX_FUNCTION_WORDS)
		return 0;
	to = (char *)&made->key.words + 8 * word;
	if (value->kind == IOCX_FUNCTION_NUMBER) {
		if (!read_number(ctx, value, &number))
			return 0;
		bpf_probe_read_kernel(to, 8, &number); /* stores to variable places of the stack are of Linux 5.12 */
		return 1;
	}
	if (size == 0 || size > IOCX_FUNCTION_TEXT || !follow(ctx, value, &address))
		return 0;
	/* One byte more: a text that fills it does not end within its size. */
	if ((__u32)bpf_probe_read_user_str(to, size + 1, (const void *)address) <= size)
		return 1;
	bpf_probe_read_kernel(to, size + 1, no_text);
	return 0;
}

static __always_inline __u32 *find_series(const struct iocx_function_key *key, int few)
{
	return few ? bpf_map_lookup_elem(&series_by_few, key) : bpf_map_lookup_elem(&series_by_key, key);
}

/* Not inline: seldom, and its stack is another. */
static __noinline __u32 add_series(const struct iocx_function_place *place, const struct iocx_function_key *key,
				   int few)
{
	struct iocx_function_series *series;
	const __u32 *found;
	__u32 index, holder;
	long err;

	if (!place || !key)
		return 0;
	holder = place->holder;
	if (!take_place(IOCX_FUNCTION_HELD_SERIES, holder))
		return 0;
	if (bpf_map_pop_elem(&free_series, &index))
		goto give;
	series = bpf_map_lookup_elem(&function_series, &index);
	if (!series)
		goto give;
	series->key = *key;
	series->holder = place->holder;
	err = few ? bpf_map_update_elem(&series_by_few, key, &index, BPF_NOEXIST)
		  : bpf_map_update_elem(&series_by_key, key, &index, BPF_NOEXIST);
	if (!err) {
		__sync_fetch_and_add(&series->used, 1);
		return index;
	}
	bpf_map_push_elem(&free_series, &index, BPF_EXIST);
	give_place(IOCX_FUNCTION_HELD_SERIES, holder);
	found = find_series(key, few);
	return found ? *found : 0;
give:
	give_place(IOCX_FUNCTION_HELD_SERIES, holder);
	return 0;
}

static __noinline __u32 series_of_call(struct pt_regs *ctx, const struct iocx_function_place *place,
				       const struct iocx_function *function)
{
	struct key_on_stack made = {};
	const int few = function->words <= IOCX_FUNCTION_FEW_WORDS;
	const __u32 *found;
	__u32 i, index;

	made.key.ioc = place->ioc;
	made.key.function = place->function;
	for (i = 0; i < IOCX_FUNCTION_LABELS; i++) {
		if (function->labels[i].kind == IOCX_FUNCTION_NOTHING)
			break;
		if (read_label(ctx, &function->labels[i], &made))
			continue;
		made.key.unread |= 1u << i;
		count_drop(IOCX_FUNCTION_DROP_LABEL_UNREAD);
	}
	found = find_series(&made.key, few);
	if (found)
		return *found;
	index = add_series(place, &made.key, few);
	if (index)
		return index;
	count_drop(IOCX_FUNCTION_DROP_SERIES_FULL);
	return place->series;
}

static __always_inline void count_call(__u32 index)
{
	struct iocx_function_series *series = bpf_map_lookup_elem(&function_series, &index);

	if (series)
		__sync_fetch_and_add(&series->calls, 1);
}

static __always_inline void add_time(__u32 index, __u64 ns)
{
	struct iocx_function_times *times = bpf_map_lookup_elem(&function_times, &index);
	const __u32 slot = iocx_put_hist_slot(ns);

	if (!times || slot >= IOCX_PUT_HIST_SLOTS)
		return;
	__sync_fetch_and_add(&times->sum_ns, ns);
	__sync_fetch_and_add(&times->buckets[slot], 1);
}

static __noinline int count_result(struct pt_regs *ctx, const struct iocx_function_place *place,
				   const struct iocx_function *function, __u32 index)
{
	struct iocx_function_result_key key = {0, index, 0};
	struct iocx_function_result fresh = {0, place->holder, 0}, *result;
	const __u32 holder = place->holder;
	struct iocx_function_series *series;

	if (!read_number(ctx, &function->result, (__u64 *)&key.result))
		return count_drop(IOCX_FUNCTION_DROP_VALUE_UNREAD);
	result = bpf_map_lookup_elem(&function_results, &key);
	if (!result && take_place(IOCX_FUNCTION_HELD_RESULTS, holder)) {
		if (bpf_map_update_elem(&function_results, &key, &fresh, BPF_NOEXIST))
			give_place(IOCX_FUNCTION_HELD_RESULTS, holder);
		result = bpf_map_lookup_elem(&function_results, &key);
	}
	if (result) {
		__sync_fetch_and_add(&result->calls, 1);
		return 0;
	}
	count_drop(IOCX_FUNCTION_DROP_FULL);
	series = bpf_map_lookup_elem(&function_series, &index);
	if (series)
		__sync_fetch_and_add(&series->other_results, 1);
	return 0;
}

#endif
