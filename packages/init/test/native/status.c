/*
 * Reads answers of a coordinator, each ended by a NUL, and writes a line for each: "refused VERSION", or "STATE WITHDRAWN RELEASED REPORTED/RELEVANT END
 * MODE", then BEHIND and LAST after tabs. What is not known is "-".
 */
#include "../../src/coordinator/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	char *text = NULL;
	size_t size = 0;
	while (getdelim(&text, &size, '\0', stdin) > 0) {
		/* The mode before the answer stays where it names none. */
		struct status status = { .consistency = false }, other = { .consistency = true };
		if (!status_parse(text, &status)) {
			printf("refused %u\n", status_other_version(text));
			continue;
		}
		status_parse(text, &other);
		const char *mode = status.consistency != other.consistency ? "-" : status.consistency ? "consistency" : "availability";
		printf("%s %s ", status_state_names[status.state], status.withdrawn ? "withdrawn" : "-");
		if (isnan(status.released))
			printf("- ");
		else
			printf("%.0f ", status.released);
		printf("%u/%u %s %s %.0f\t%s\t%s\n", status.reported, status.relevant, status.end ? "now" : "-", mode,
		       status.assumed, status.behind, status.last);
	}
	free(text);
	return 0;
}
