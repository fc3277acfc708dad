/*
 * A recording of one hold for `lameduck explain`: the input and the output of the decision, as JSON lines, in the format of
 * packages/drain/src/explain/trace.ts. Where none is asked for, everything here returns at once.
 */
#pragma once

#include "../base/log.h"
#include "../decision/drain.h"

#include <stdbool.h>
#include <stddef.h>

struct trace {
	int fd; /* -1 where nothing is recorded */
	const struct logger *logger;
	double from; /* when the termination began */
	double next_flush;
	size_t used;
	size_t written;
	size_t left_out; /* observations that were left out at the bound of the file */
	char buffer[16384];
};

/* `place` is a file or a directory; NULL: no recording. A recording that cannot be written is reported once, and changes nothing else. */
void trace_begin(struct trace *trace, const char *place, const char *why, const struct logger *logger,
		 const struct drain_config *config, double terminated_at);
void trace_observed(struct trace *trace, const struct observation *seen);
void trace_decided(struct trace *trace, const struct decision *decision, double now);
void trace_end(struct trace *trace, const char *reason, double now);
