/* Periods of probes that are configured or assumed. With them fewer connections show a prober than where its period has to be found. */
#ifndef LAMEDUCK_PROBE_PERIODS_H
#define LAMEDUCK_PROBE_PERIODS_H

#include "rhythm.h"

enum { MOST_PROBE_PERIODS = 8 };

/* One for each probe: a period that two probes share is there twice. */
struct probe_periods {
	double each[MOST_PROBE_PERIODS]; /* ms */
	size_t count;
	bool assumed;
};

/* Where none is configured, 10 s is assumed: the kubelet's default. */
void probe_periods_default(struct probe_periods *periods);

/*
 * Whether the latest connection is a probe, and all of them are. `before`: connections of the same address from a time when sizes were
 * unknown; NULL where there are none.
 */
bool probe_periods_match(const struct probe_periods *periods, const struct rhythm *rhythm, const struct rhythm *before);

/* Whether a connection that came `at` is one period before or after one of these. */
bool probe_periods_explain(const struct probe_periods *periods, const struct rhythm *rhythm, double at);

#endif
