/* Shell commands for tests that bring an IOC into trouble. */
#ifndef IOC_COMMANDS_H
#define IOC_COMMANDS_H

#ifdef __cplusplus
extern "C" {
#endif

void register_test_commands(void);
void register_leaving_support(void); /* leaving_support.cpp */

#ifdef __cplusplus
}
#endif

#endif
