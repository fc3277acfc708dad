/*
 * Connections without an address come one by one, every 10 ms. Then addresses come late. The first argument is how many connections there are, each later
 * one how many of them get an address at once. This writes the recording of what the decision is told.
 */
#include "../../src/traffic/unattributed.h"

#include <stdlib.h>
#include <unistd.h>

int main(int count, char **arguments)
{
	static struct drain drain;
	static struct trace trace = { .fd = STDOUT_FILENO };
	struct unattributed unattributed;
	struct drain_config config;
	struct error error;
	const struct drain_options options = { .policy = "adaptive" };
	if (count < 2 || !parse_config(&options, &config, &error))
		return 2;
	drain_init(&drain, &config);
	struct teller teller = { .drain = &drain, .trace = &trace, .config = &config, .release = &drain.release };
	double now = 0;
	unattributed_begin(&unattributed, now);
	for (int i = 1; i <= atoi(arguments[1]); i++) {
		double since = now;
		now += 10;
		unattributed.open++;
		unattributed.last_opened = unattributed.read_at = now;
		unattributed_tell(&unattributed, &teller, false, since, now);
	}
	for (int i = 2; i < count; i++) {
		for (int left = atoi(arguments[i]); left > 0; left--)
			unattributed_explain(&unattributed, now);
		unattributed_tell(&unattributed, &teller, false, now, now);
	}
	trace_end(&trace, "end", now);
	drain_free(&drain);
	return 0;
}
