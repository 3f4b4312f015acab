// Time that a hit of a probe takes from the thread that comes by, without that of the program.
#pragma once

#include "base/result.h"

namespace ioc_exporter::kernel {

// Seconds, by what the kernel does with the instruction below the breakpoint.
struct HitCost {
  double emulated = 1e-6;
  // It executes it by itself, in a second trap: on a virtual machine that takes ten times as long.
  double stepped = 10e-6;
  // On top of that at the first hit after the thread has slept: the caches are cold.
  double after_pause = 8e-6;
  // For each other attachment at the same place: the kernel passes all of them.
  double beside = 0.1e-6;
  bool emulates_long_nops = false;
};

// Measured at the first call, which takes 0.2 s, in which it sleeps, and needs the right to attach:
// functions of this program, without and with an empty probe as this kernel has others attached.
const Result<HitCost>& measured_hit_cost();

// The same; where it cannot be measured, more than it was on most machines that were tried.
HitCost hit_cost();

// Attaches an empty program to a function of this program by a link, and takes it off. An error:
// this kernel has no links of uprobes that see all threads, or the rights do not suffice.
Result<void> try_uprobe_link();

}  // namespace ioc_exporter::kernel
