/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Definitions of maps, and operations on them, that the programs of every folder use. */
#ifndef IOC_EXPORTER_BPF_BASE_MAPS_H
#define IOC_EXPORTER_BPF_BASE_MAPS_H

/* Where `entries` is 1 and not meant, user space sets the size before it loads. */
#define MAP(name, kind, entries, key_type, value_type) \
	struct {                                       \
		__uint(type, BPF_MAP_TYPE_##kind);     \
		__uint(max_entries, entries);          \
		__type(key, key_type);                 \
		__type(value, value_type);             \
	} name SEC(".maps")

/* User space reads or writes it without system calls. */
#define MAPPED_ARRAY(name, entries, value_type)    \
	struct {                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);  \
		__uint(map_flags, BPF_F_MMAPABLE); \
		__uint(max_entries, entries);      \
		__type(key, __u32);                \
		__type(value, value_type);         \
	} name SEC(".maps")

/* Adds to a counter of a per-CPU array. No atomics: a program stays on its CPU. */
static __always_inline void add_to_counter(void *counters, __u32 index, __u64 amount)
{
	__u64 *counter = bpf_map_lookup_elem(counters, &index);

	if (counter)
		*counter += amount;
}

/* The value in an array of one element. */
static __always_inline void *only_element(void *array)
{
	const __u32 first = 0;

	return bpf_map_lookup_elem(array, &first);
}

/*
 * Adds a copy of `*fresh` to a hash and returns the value of the key, NULL when there is no room. When two
 * CPUs add the same key, the first copy stays and both get that one.
 */
static __always_inline void *add_entry(void *map, const void *key, const void *fresh)
{
	bpf_map_update_elem(map, key, fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

#endif
