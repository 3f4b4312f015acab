/* libseq: programs and their state sets. Of src/seq/seq_cmd.c and seqPvt.h, seq 2.2.9. */
#include "seq.h"

#include <stdlib.h>
#include <string.h>

struct sequencerProgram {
	MOVED const seqProgram *prog;
	struct program_instance *instances;
	struct sequencerProgram *next;
};

static struct {
	MOVED void *lock;
	struct sequencerProgram *programs;
	void *pvSys[2];
} globals;

void seq_add(const seqProgram *made, struct program_instance *program)
{
	struct sequencerProgram *entry = calloc(1, sizeof *entry);

	memset(entry, 0x5a, offsetof(struct sequencerProgram, prog));
	memset(&globals, 0x5a, (size_t)((char *)&globals.lock - (char *)&globals));
	entry->prog = made;
	entry->instances = program;
	entry->next = globals.programs;
	globals.programs = entry;
}

void register_module(void)
{
}
