/* How senders may converge: the mirror of packages/drain/src/belief/hypotheses.ts, which holds the reasons. */
#pragma once

#define HYPOTHESIS_DELAYS 8 /* those of the prior; one more is that of the latest arrival */
#define HYPOTHESIS_MEANS 5
#define HYPOTHESIS_PRIOR (HYPOTHESIS_DELAYS * HYPOTHESIS_MEANS)
#define HYPOTHESIS_COUNT (HYPOTHESIS_PRIOR + HYPOTHESIS_MEANS)

extern const double delays[HYPOTHESIS_DELAYS + 1]; /* the last mean is no hypothesis: it bounds the interval that begins with the mean before */
extern const double means[HYPOTHESIS_MEANS];

/* By delay, within it by mean; they add up to 1. */
struct prior {
	double weights[HYPOTHESIS_PRIOR];
};

struct prior default_prior(void);
