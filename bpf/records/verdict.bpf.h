/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Whether a call of dbProcess processes its record (dbAccess.c). It does not when PACT is set: then it returns at
 * once. It does not when DISA equals DISV after SDIS was read: then it sets STAT to DISABLE and returns.
 */
#ifndef IOC_EXPORTER_BPF_RECORD_VERDICT_H
#define IOC_EXPORTER_BPF_RECORD_VERDICT_H

#define MENU_ALARM_STAT_DISABLE 18 /* menuAlarmStat.dbd, the same from 3.14 to 7.0 */
#define LINK_TYPE_CONSTANT 0       /* link.h, CONSTANT */

enum verdict { PROCESSES, IS_ACTIVE, IS_DISABLED, UNDECIDED };

/* Facts of a call at its entry. */
struct entry_facts {
	enum verdict verdict;
	__u32 severity; /* SEVR; IOCX_SEVERITIES when it could not be read */
	__u32 cause;    /* as in iocx_frame */
	__u64 returns_to;
};

/*
 * Decides from a copy of the window of fields. `pact` is the offset of its last byte: a constant, since older kernels
 * refuse variable offsets into the BPF stack.
 */
static __always_inline struct entry_facts facts_from(const char *window, __u32 pact)
{
	__s16 disv = *(__s16 *)window, disa = *(__s16 *)(window + IOCX_WINDOW_DISA);
	__s16 sdis_type = *(__s16 *)(window + IOCX_WINDOW_SDIS_TYPE);
	struct entry_facts facts = {PROCESSES, *(__u16 *)(window + IOCX_WINDOW_SEVR), 0, 0};

	if (window[pact])
		facts.verdict = IS_ACTIVE;
	else if (sdis_type != LINK_TYPE_CONSTANT)
		facts.verdict = UNDECIDED; /* dbProcess reads DISA through the link now */
	else if (disa == disv)
		facts.verdict = IS_DISABLED;
	return facts;
}

/* Facts as one number, since BPF functions return nothing larger. */
#define FACTS(facts) ((__u64)(facts).severity << 32 | (facts).verdict)

/*
 * A function of its own that calls no other: the window takes more than half of the stack that functions which call each
 * other share.
 */
static __noinline __u64 read_facts(const struct iocx_ioc_config *config, __u64 record)
{
	/* The first two bytes are not used, so that DISV, DISA and the type are aligned. */
	struct {
		char unused[2];
		char window[240];
		char end[6];
	} __attribute__((aligned(8))) fields;
	struct entry_facts facts = {UNDECIDED, IOCX_SEVERITIES, 0, 0};
	__u16 severity = IOCX_SEVERITIES;
	__u8 pact = 0;

	if (!config)
		return FACTS(facts);
	if (config->layout == IOCX_LAYOUT_240) {
		if (!bpf_probe_read_user(fields.window, 240, (void *)(record + config->disv))) {
			facts = facts_from(fields.window, 239);
			return FACTS(facts);
		}
	} else if (config->layout == IOCX_LAYOUT_160) {
		if (!bpf_probe_read_user(fields.window, 160, (void *)(record + config->disv))) {
			facts = facts_from(fields.window, 159);
			return FACTS(facts);
		}
	} else if (!bpf_probe_read_user(&pact, sizeof(pact), (void *)(record + config->pact)) &&
		   !bpf_probe_read_user(&severity, sizeof(severity), (void *)(record + config->sevr))) {
		facts.verdict = pact ? IS_ACTIVE : UNDECIDED;
		facts.severity = severity;
		return FACTS(facts);
	}
	count_drop(IOCX_RECORD_DROP_READ);
	return FACTS(facts);
}

static __always_inline struct entry_facts facts_of(const struct iocx_ioc_config *config, __u64 record)
{
	__u64 read = read_facts(config, record);
	struct entry_facts facts = {(enum verdict)(__u32)read, read >> 32, 0, 0};

	return facts;
}

/* PACT of the record. When it cannot be read: 0, and a drop is counted. */
static __always_inline __u8 read_pact(const struct iocx_ioc_config *config, __u64 record)
{
	__u8 pact = 0;

	if (bpf_probe_read_user(&pact, sizeof(pact), (void *)(record + config->pact)))
		count_drop(IOCX_RECORD_DROP_READ);
	return pact;
}

/* Whether the returning call has found its record disabled. */
static __always_inline int was_disabled(const struct iocx_ioc_config *config, __u64 record)
{
	__s16 disable[2] = {0, 1}; /* DISV and DISA, which are neighbours in every version of Base */
	__u16 stat = 0;

	if (config->disa == config->disv + 2) {
		if (bpf_probe_read_user(disable, sizeof(disable), (void *)(record + config->disv)))
			count_drop(IOCX_RECORD_DROP_READ);
	} else {
		if (bpf_probe_read_user(&disable[0], 2, (void *)(record + config->disv)) ||
		    bpf_probe_read_user(&disable[1], 2, (void *)(record + config->disa)))
			count_drop(IOCX_RECORD_DROP_READ);
	}
	if (disable[0] != disable[1])
		return 0;
	/*
	 * A record may have set its own DISA while it was processed. Then STAT is not DISABLE, or the record is
	 * asynchronous and PACT is set. A call that finds the record disabled leaves DISABLE and no PACT.
	 */
	if (bpf_probe_read_user(&stat, sizeof(stat), (void *)(record + config->stat)))
		count_drop(IOCX_RECORD_DROP_READ);
	return stat == MENU_ALARM_STAT_DISABLE && !read_pact(config, record);
}

/* The best decision at the entry of a call whose return will not be seen. */
static __always_inline enum verdict verdict_alone(const struct iocx_ioc_config *config, __u64 record)
{
	__s16 disable[2] = {0, 1}, link = LINK_TYPE_CONSTANT + 1;

	if (read_pact(config, record))
		return IS_ACTIVE;
	if (config->layout == IOCX_LAYOUT_ANY)
		return UNDECIDED;
	if (bpf_probe_read_user(disable, sizeof(disable), (void *)(record + config->disv)) ||
	    bpf_probe_read_user(&link, sizeof(link), (void *)(record + config->disv + IOCX_WINDOW_SDIS_TYPE)))
		count_drop(IOCX_RECORD_DROP_READ);
	return link == LINK_TYPE_CONSTANT && disable[0] == disable[1] ? IS_DISABLED : PROCESSES;
}

#endif
