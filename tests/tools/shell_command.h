/* Commands of an IOC's shell. */
#ifndef SHELL_COMMAND_H
#define SHELL_COMMAND_H

#include <iocsh.h>

/* `types`: a letter for each argument, s for a text and i for a number. */
static inline void add_command(const char* name, const char* types, iocshCallFunc call) {
  static const iocshArg text = {"text", iocshArgString}, number = {"number", iocshArgInt};
  static const iocshArg* arguments[16][4];
  static iocshFuncDef commands[16];
  static int used;
  int i;

  for (i = 0; types[i]; i++) arguments[used][i] = types[i] == 's' ? &text : &number;
  commands[used].name = name;
  commands[used].nargs = i;
  commands[used].arg = arguments[used];
  iocshRegister(&commands[used++], call);
}

#endif
