/* Periods of probes that the user has told, or that are assumed: fewer connections make a prober known than where its period has to be found. */
#ifndef LAMEDUCK_TOLD_H
#define LAMEDUCK_TOLD_H

#include "rhythm.h"

enum { MOST_TOLD = 8 };

/* One for each probe: a period that two probes share is there twice. */
struct told_periods {
	double periods[MOST_TOLD]; /* ms */
	size_t count;
	bool assumed;
};

/* Where none are told, most kubelets probe each 10 s, as is their default. */
void told_or_assumed(struct told_periods *told);

/*
 * Whether the latest connection is a probe, and all of them are. `before`: of the same address, from the time of which no sizes are
 * known; NULL where there are none.
 */
bool told_are_probes(const struct told_periods *told, const struct rhythm *rhythm, const struct rhythm *before);

/* Whether one that came `at` is a told period before one of these, or after it. */
bool told_explain(const struct told_periods *told, const struct rhythm *rhythm, double at);

#endif
