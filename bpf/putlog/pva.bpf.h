/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The events of a put by PV Access: client and PV, in bytes[]; then one for each field that it has the database write,
 * and its end. All have the time of the put, and its slot.
 */
#ifndef IOC_EXPORTER_BPF_PUTLOG_PVA_BPF_H
#define IOC_EXPORTER_BPF_PUTLOG_PVA_BPF_H

#include "putlog/events.bpf.h"
#include "putlog/field_value.bpf.h"
#include "putlog/pva_options.bpf.h"

#define LAYOUTS 4096

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, LAYOUTS);
	__type(key, struct iocx_field_key);
	__type(value, struct iocx_field_layout);
} field_layouts SEC(".maps");

/* A field that is about to be written. */
struct putlog_write {
	struct channel_address address; /* field_size 0: what it has is not known */
	struct iocx_field_layout layout;
	__u64 time;  /* of the put */
	__u64 value; /* in the IOC */
	__u64 name;  /* the same */
	__u32 slot;
	__u32 place;
	__u32 count;
	__u32 value_bytes, old_bytes; /* that are wanted */
	__u32 flags;
	__u32 most; /* elements that the field has room for */
	__u16 type;
	__u16 is_text; /* 1: the value is a text up to its zero byte, for a link */
};

/* `client`: its number, which leads to its place. */
static __always_inline __u32 putlog_pva_place(__u32 generation, __u32 client)
{
	return iocx_putlog_place(cfg_putlog_seed, IOCX_PUTLOG_PVA, generation, client);
}

/* `slot`: NULL when there is none for the put. */
static __noinline int putlog_pva(const struct iocx_pva_key *key, const struct iocx_server_slot *slot,
				 __u64 slot_and_client, __u64 now, __u32 flags)
{
	const __u32 place = putlog_pva_place(key->generation, (__u32)slot_and_client);
	struct iocx_putlog_event *event;

	if (!putlog_has_share(place))
		return 0;
	event = putlog_reserve(sizeof *key);
	if (!event)
		return putlog_count_no_room();
	__builtin_memset(event, 0, sizeof *event);
	event->time = now;
	event->lost = putlog_all_lost();
	event->id = slot ? slot->id : 0;
	event->slot = slot_and_client >> 32;
	event->generation = key->generation;
	event->value_bytes = sizeof *key;
	event->source = IOCX_PUTLOG_PVA;
	event->flags = flags;
	bpf_probe_read_kernel(event->bytes, sizeof *key, key);
	putlog_submit(event, place, sizeof *key);
	return 0;
}

/* Its end; IOCX_FAILURES: well. `options`: enum iocx_putlog_option. */
static __noinline int putlog_pva_end(const struct iocx_open_callback *put, __u32 place, __u32 failure, __u32 options)
{
	struct iocx_putlog_event *event = putlog_result(place, IOCX_PUTLOG_PVA, IOCX_PUTLOG_DONE);

	if (!event)
		return 0;
	event->id = put->since_ns;
	event->slot = put->slot;
	event->count = failure;
	event->type = options;
	putlog_submit(event, place, 0);
	return 0;
}

/* `slot`: NULL, there is none. */
static __always_inline void on_put(const struct iocx_pva_key *key, const struct iocx_server_slot *slot,
				   const struct iocx_server_ioc *ioc, __u32 index, __u64 now, int is_group)
{
	if (cfg_putlog_bytes)
		putlog_pva(key, slot, (__u64)index << 32 | holder_of_client(key), now,
			   (is_group ? IOCX_PUTLOG_GROUP : 0) |
				   (slot && ioc->reports_results ? IOCX_PUTLOG_HAS_RESULT : 0));
}

/* IOCX_FAILURES: well. */
static __always_inline void on_put_ended(const struct iocx_open_callback *put, const struct iocx_server_slot *slot,
					 const struct iocx_server_ioc *ioc, __u32 failure)
{
	if (cfg_putlog_bytes && ioc->reports_results)
		putlog_pva_end(put, putlog_pva_place(ioc->generation, slot->holder_client), failure,
			       options_of(put, ioc));
}

/* How the field's record keeps its value. */
static __noinline int putlog_find_layout(struct putlog_write *write, const struct iocx_server_ioc *ioc)
{
	const struct iocx_field_key key = {.description = write->address.description,
					   .generation = ioc->generation,
					   .is_array = write->address.elements > 1};
	const struct iocx_field_layout *found = bpf_map_lookup_elem(&field_layouts, &key);

	if (found) {
		write->layout = *found;
		return 0;
	}
	putlog_note_field(&write->layout, &write->address, ioc->enum_type);
	return bpf_map_update_elem(&field_layouts, &key, &write->layout, BPF_ANY);
}

static __always_inline void putlog_fill_field(struct iocx_putlog_event *event, const struct putlog_write *write,
					      __u32 room)
{
	const struct channel_address *address = &write->address;

	if (!putlog_add_old_value(event, &write->layout, address, write->most, write->old_bytes, room))
		return;
	if (write->count == 1 && write->type == write->layout.enum_type &&
	    putlog_add_choice(event->bytes, &write->layout, address, *(__u16 *)event->bytes))
		event->flags |= IOCX_PUTLOG_SENT_CHOICE;
}

static __always_inline void putlog_fill_write(struct iocx_putlog_event *event, const struct putlog_write *write,
					      __u32 room)
{
	__u8 *const name = event->bytes + 2 * room;
	__u32 wanted = write->value_bytes;
	long length;

	__builtin_memset(event, 0, sizeof *event);
	event->time = bpf_ktime_get_ns();
	event->lost = putlog_all_lost();
	event->id = write->time;
	event->slot = write->slot;
	event->count = write->count;
	event->room = room;
	event->type = write->type;
	event->enum_type = write->layout.enum_type;
	event->flags = write->flags;
	event->source = IOCX_PUTLOG_PVA;
	event->op = IOCX_PUTLOG_VALUE;
	if (wanted > room)
		wanted = room;
	IOCX_CA_OPAQUE(wanted);
	if (write->is_text) {
		length = bpf_probe_read_user_str(event->bytes, room, (const void *)(unsigned long)write->value);
		event->value_bytes = length > 0 ? length : 0;
	} else if (wanted <= room && !read_at(event->bytes, wanted, write->value)) {
		event->value_bytes = wanted;
	}
	if (write->address.field_size)
		putlog_fill_field(event, write, room);
	name[0] = 0;
	if (write->name)
		bpf_probe_read_user_str(name, IOCX_PUTLOG_FIELD, (const void *)(unsigned long)write->name);
	putlog_submit(event, write->place, 2 * room + IOCX_PUTLOG_FIELD);
}

/* 0: there is no room for it. */
static __always_inline int putlog_send_write_in(const struct putlog_write *write, __u32 room)
{
	struct iocx_putlog_event *event = putlog_reserve(2 * room + IOCX_PUTLOG_FIELD);

	if (!event)
		return putlog_count_lost_answer();
	putlog_fill_write(event, write, room);
	return 1;
}

static __noinline int putlog_send_write(const struct putlog_write *write)
{
	if (!putlog_may(write->place))
		return putlog_count_lost_answer();
	if (write->value_bytes <= IOCX_PUTLOG_SMALL && write->old_bytes <= IOCX_PUTLOG_SMALL)
		return putlog_send_write_in(write, IOCX_PUTLOG_SMALL);
	return putlog_send_write_in(write, cfg_putlog_bytes);
}

#endif
