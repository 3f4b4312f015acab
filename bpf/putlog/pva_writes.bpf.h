/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * What a put by PV Access writes: whatever QSRV asks the database to write passes dbChannelPut(), a link's text
 * dbParseLink(), in the same thread. Of a put that waits for its record (block), QSRV's putCallback does that, perhaps in
 * another thread.
 */
#ifndef IOC_EXPORTER_BPF_PUTLOG_PVA_WRITES_BPF_H
#define IOC_EXPORTER_BPF_PUTLOG_PVA_WRITES_BPF_H

#define ADDRESS_OF_CHANNEL 8 /* dbChannel: its name, then its dbAddr */

/* What the field has, and its name. Nothing: not known. */
static __always_inline void look_at_field(struct putlog_write *write, const struct iocx_server_ioc *ioc, __u64 channel)
{
	const __u64 size = iocx_dbf_size(write->type, ioc->enum_type);
	__u64 bytes = write->count * size;
	__u32 is_array;

	write->value_bytes = bytes > cfg_putlog_bytes ? cfg_putlog_bytes : bytes;
	if (read_at(&write->name, sizeof write->name, channel))
		write->name = 0;
	if (read_at(&write->address, sizeof write->address, channel + ADDRESS_OF_CHANNEL)) {
		write->address.field_size = 0;
		return;
	}
	putlog_find_layout(write, ioc);
	is_array = write->address.elements != 1 ? IOCX_PUTLOG_IS_ARRAY : 0; /* at most, as QSRV sees it */
	if (putlog_find_elements(&write->layout, &write->address, &write->flags, &write->most))
		write->address.field_size = 0;
	write->flags = is_array;
	bytes = (__u64)write->address.elements * (__u16)write->address.field_size;
	write->old_bytes = bytes > cfg_putlog_bytes ? cfg_putlog_bytes : bytes;
}

/* `channel`: 0, `value` is the text of a link. */
static __always_inline int log_write(__u64 channel, __u32 type, __u64 value, __u32 count)
{
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct iocx_open_callback *put = bpf_map_lookup_elem(&callback_threads, &tid), *waiting = 0;
	const struct iocx_server_ioc *ioc = put && cfg_putlog_bytes ? current_ioc() : 0;
	const struct iocx_server_slot *slot = ioc ? slot_of_put(put, ioc) : 0;
	struct putlog_write write = {.value = value, .type = type, .count = count};

	if (!slot || !ioc->enum_type || !ioc->reports_results) /* without results no put waits for its values */
		return 0;
	if (put->notify) {
		waiting = waiting_put(put, ioc->generation);
		if (!waiting)
			return 0;
	}
	write.time = put->since_ns;
	write.slot = put->slot;
	write.place = putlog_pva_place(ioc->generation, slot->holder_client);
	write.layout.enum_type = ioc->enum_type;
	write.is_text = !channel;
	if (channel)
		look_at_field(&write, ioc, channel);
	else
		write.value_bytes = cfg_putlog_bytes;
	if (!putlog_send_write(&write)) {
		put->value_lost = 1;
		if (waiting)
			waiting->value_lost = 1;
	}
	if (put->notify) /* that callback writes once */
		bpf_map_delete_elem(&callback_threads, &tid);
	return 0;
}

/* dbChannelPut(channel, type, value, count) */
PROGRAM(pva_write)
{
	return log_write(PT_REGS_PARM1(ctx), (__u16)PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx));
}

/* dbParseLink(text, type, ...), since Base 3.16: dbPutField() has it read a link's new text. */
PROGRAM(pva_write_link)
{
	return log_write(0, 0, PT_REGS_PARM1(ctx), 1);
}

/* QSRV's putCallback(notify, type): the database has it write what it waits for. */
PROGRAM(pva_notify_put)
{
	struct iocx_open_callback_key key = {.notify = PT_REGS_PARM1(ctx)};
	const __u32 tid = (__u32)bpf_get_current_pid_tgid();
	const struct iocx_server_ioc *ioc = current_ioc();
	const struct iocx_open_callback *open;
	struct iocx_open_callback put;

	if (!ioc)
		return 0;
	key.generation = ioc->generation;
	open = bpf_map_lookup_elem(&open_callbacks, &key);
	if (!open)
		return 0;
	put = *open;
	put.notify = key.notify;
	bpf_map_update_elem(&callback_threads, &tid, &put, BPF_ANY);
	return 0;
}

#endif
