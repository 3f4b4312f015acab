/* Another source file with a function of the same name. */
#include "tools/driver.h"

static volatile int work;

__attribute__((noinline, noclone)) static int twice(int number)
{
	work -= number;
	return 2 * number;
}

int driver_other_twice(int number)
{
	return twice(number) - 1;
}
