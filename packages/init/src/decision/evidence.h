/* What silence proves of one sender: the mirror of packages/drain/src/belief/evidence.ts, which holds the reasons. Times in ms, rates per ms. */
#pragma once


/* Silence before the deletion that has a chance of 1e-9. */
extern const double left_hazard;

struct habit {
	double rate;  /* mean rate until the last arrival */
	double slope; /* upper bound of -ln of the chance of silence, per ms */
	double gaps, time;	 /* learnt from `gaps` gaps in the time `time` */
	double pause_share;	 /* the share of its gaps that were pauses */
	double longest_pause;
	double recent_gap;   /* mean of its latest gaps, where it has slowed down since the deletion; else 0 */
	double recent_worth; /* the mean is as certain as if it were learnt from this many gaps */
};

struct habit learnt_habit(double gaps, double exposure, double longest_gap);
/* -ln of the chance that the sender is silent for so long while it still sends. */
double habit_hazard(const struct habit *habit, double silence);
/* The rate expected of the sender after such a silence, if it still sends. */
double habit_rate_after(const struct habit *habit, double silence);
