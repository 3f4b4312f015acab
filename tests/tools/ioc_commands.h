/* Shell commands for tests that bring an IOC into trouble. */
#ifndef IOC_COMMANDS_H
#define IOC_COMMANDS_H

void register_test_commands(void);

#endif
