/* Writes a line "NUMBER NAME READ" for each signal: its name, and the number that is read from that name. */
#include "../../src/process/signals.h"

#include <stdio.h>

int main(void)
{
	char name[16];
	for (int signal = 1; signal <= HIGHEST_SIGNAL; signal++) {
		signal_name(signal, name);
		printf("%d %s %d\n", signal, name, signal_number(name));
	}
	return 0;
}
