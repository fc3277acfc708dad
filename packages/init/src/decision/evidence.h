/* What silence proves: the mirror of packages/drain/src/evidence.ts, which holds the reasons. Times in ms, rates per ms. */
#ifndef LAMEDUCK_EVIDENCE_H
#define LAMEDUCK_EVIDENCE_H

struct habit {
	double rate;     /* mean rate until the last arrival */
	double rate_now; /* rate expected now, as it may have been overestimated from few arrivals */
	double surprise; /* -ln of the chance that a sender still sending is silent for so long */
};

struct habit known_habit(double rate, double silence);
struct habit learnt_habit(double gaps, double exposure, double longest_gap, double silence);
double recent_surprise(double mean_gap, double silence);
double alive_probability(struct habit habit, double silence, double convergence);
double expected_loss(struct habit habit, double silence, double convergence);
double expected_loss_of_aggregate(double count, double total_rate, double silence, double convergence);

#endif
