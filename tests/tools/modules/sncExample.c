/*
 * A program of the sequencer, as snc would make it: state set "light" with the states off and on, "level_det" with idle,
 * "pump_2_valve" with open.
 *
 *   seqStart PROGRAM                 begins one more instance
 *   seqTransitions PROGRAM COUNT     of its state set light, from one state to the other
 *   seqPumps PROGRAM COUNT           of pump_2_valve
 *   seqEnter PROGRAM SECONDS         time since 1990 at which its states were entered
 */
#include <stdlib.h>
#include <string.h>

#include "seq.h"

static void enter(SSCB *ss, int state)
{
	ss->prevState = ss->currentState;
	ss->currentState = state;
}

/* snc's own names. */
KEPT static void seqg_action_light_0_off(SSCB *ss, int transition, int *next)
{
	(void)transition;
	*next = 1;
	enter(ss, 1);
}

KEPT static void seqg_action_light_0_on(SSCB *ss, int transition, int *next)
{
	(void)transition;
	*next = 0;
	enter(ss, 0);
}

KEPT static void seqg_action_level_det_1_idle(SSCB *ss, int transition, int *next)
{
	(void)ss, (void)transition;
	*next = 0;
}

KEPT static void seqg_action_pump_2_valve_2_open(SSCB *ss, int transition, int *next)
{
	(void)transition;
	*next = 0;
	enter(ss, 0);
}

static const STATE light[] = {{.stateName = "off", .actionFunc = seqg_action_light_0_off},
			      {.stateName = "on", .actionFunc = seqg_action_light_0_on}};
static const STATE level[] = {{.stateName = "idle", .actionFunc = seqg_action_level_det_1_idle}};
static const STATE pump[] = {{.stateName = "open", .actionFunc = seqg_action_pump_2_valve_2_open}};
static const seqSS sets[] = {{.ssName = "light", .states = light, .numStates = 2},
			     {.ssName = "level_det", .states = level, .numStates = 1},
			     {.ssName = "pump_2_valve", .states = pump, .numStates = 1}};
static const seqProgram example = {.progName = "example", .ss = sets, .numSS = 3};

static PROG *programs;

static PROG *find(const char *name)
{
	PROG *one;

	for (one = programs; one; one = one->next)
		if (!strcmp(one->progName, name))
			return one;
	one = calloc(1, sizeof *one);
	one->progName = strdup(name);
	one->numSS = 3;
	one->ss = calloc(3, sizeof *one->ss);
	one->ss[0] = (SSCB){.ssName = "light", .numStates = 2, .states = light, .prog = one};
	one->ss[1] = (SSCB){.ssName = "level_det", .numStates = 1, .states = level, .prog = one};
	one->ss[2] = (SSCB){.ssName = "pump_2_valve", .numStates = 1, .states = pump, .prog = one};
	memset(one, 0x5a, offsetof(PROG, var));
	memset(&one->ss[0], 0x5a, offsetof(SSCB, var));
	memset(&one->ss[1], 0x5a, offsetof(SSCB, var));
	memset(&one->ss[2], 0x5a, offsetof(SSCB, var));
	seq_add(&example, one);
	return programs = one;
}

static void start(const iocshArgBuf *args)
{
	find(args[0].sval);
}

static void act(SSCB *ss, int count)
{
	int i, next;

	for (i = 0; i < count; i++)
		ss->states[ss->currentState].actionFunc(ss, 0, &next);
}

static void step(const iocshArgBuf *args)
{
	act(find(args[0].sval)->ss, args[1].ival);
}

static void pump_out(const iocshArgBuf *args)
{
	act(find(args[0].sval)->ss + 2, args[1].ival);
}

static void set_entered(const iocshArgBuf *args)
{
	PROG *one = find(args[0].sval);

	one->ss[0].timeEntered = one->ss[1].timeEntered = one->ss[2].timeEntered = args[1].ival;
}

void register_module(void)
{
	add_command("seqStart", "s", start);
	add_command("seqTransitions", "si", step);
	add_command("seqPumps", "si", pump_out);
	add_command("seqEnter", "si", set_entered);
}
