/* How fast senders may converge, weighed by what was seen: the mirror of packages/drain/src/belief/posterior.ts, which holds the reasons. */
#pragma once

#include "evidence.h"
#include "hypotheses.h"

/* By delay, within it by mean. All times are since the deletion. */
struct posterior {
	double convergence;
	double now;
	double begins[HYPOTHESIS_DELAYS + 1];
	double logs[HYPOTHESIS_COUNT];
	double losses[HYPOTHESIS_COUNT];
};

/* `latest`: time of the latest arrival of any sender, 0 if there was none; `rate`: of all arrivals before it. */
void posterior_init(struct posterior *posterior, const struct prior *prior, double convergence, double now, double latest,
		    double rate);
/* Adds a sender whose last arrival was at `last`. */
void posterior_update(struct posterior *posterior, const struct habit *habit, double last);
/* The expected loss of the senders in `posterior`, if the hypotheses have the weights of `believed`. */
double posterior_loss_under(const struct posterior *posterior, const struct posterior *believed);
