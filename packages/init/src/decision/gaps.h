/* Gaps between arrivals, and what they come to: the mirror of packages/drain/src/senders/gaps.ts. */
#pragma once

#include <stdbool.h>

#include "evidence.h"

/* Habits older than this fade, ms. */
extern const double gaps_horizon_ms;
/*
 * Before a sender has made this many gaps, no gap of it is called a pause: the others may belong to one burst. All senders together need no such
 * bound.
 */
extern const double fewest_of_one;

struct gaps {
	double count, exposure;
	double recent; /* mean of the latest gaps, the latest counting most */
	double longest, longest_before; /* the latter of the time before the latest half of what is kept */
	double pauses, longest_pause;
};

/* `coverage`: the share of the arrivals that was seen. Returns whether the gap was a pause: a gap as unlikely as that the sender had left. */
bool gaps_add(struct gaps *gaps, double gap, bool held, double coverage, double fewest);
/* Only this share of the arrivals so far was seen. So the longest gap was shorter by as much. */
void gaps_set_coverage(struct gaps *gaps, double coverage);
double gaps_longest(const struct gaps *gaps);
/* The habit where this part of the exposure counts, and no arrival has come for `idle`. */
struct habit gaps_habit(const struct gaps *gaps, double exposure, double idle);
