/* Tells a program the settings of the environment. Writes 1 where the settings still point to what the environment has of LAMEDUCK_POLICY, else 0. */
#include "../../src/cli/settings.h"
#include "../../src/cli/variables.h"

#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	static struct settings settings;
	struct error error;
	char *const arguments[] = { "lameduck-init", "--", "true", NULL };
	if (!settings_read(&settings, 3, arguments, &error))
		return 2;
	tell_program(&settings);
	printf("%d\n", settings.decision.policy && settings.decision.policy == getenv("LAMEDUCK_POLICY"));
	return 0;
}
