/* When connections of one kind came, and whether they come regularly, as probes do. */
#ifndef LAMEDUCK_RHYTHM_H
#define LAMEDUCK_RHYTHM_H

#include <stdbool.h>
#include <stddef.h>

enum { MOST_TIMES = 32 };

/* ms. A prober's ticks are even: in time is what is off by no more. A busy node's probes come late, by up to so much, never early. */
enum { IN_TIME = 100, LATEST = 500 };

struct rhythm {
	double first;		  /* ms, of all noted */
	double times[MOST_TIMES]; /* a ring of the latest */
	size_t count;		  /* of all noted */
	double period;		  /* 0 while no regularity is known */
	size_t per_period;	  /* so many came in each when it was learnt */
};

void rhythm_note(struct rhythm *rhythm, double at);

size_t rhythm_kept(const struct rhythm *rhythm);
/* Of one that is kept; `age` 0 is the latest. */
double rhythm_time(const struct rhythm *rhythm, size_t age);

/* From the first to the latest, ms. */
double rhythm_span(const struct rhythm *rhythm);

/* Looks for a period; `complete`: every connection of this kind was noted. */
bool rhythm_learn(struct rhythm *rhythm, bool complete);

/* When a connection that came `at` was due; NAN where none was. `alone`: the address only probes, so a probe may be arbitrarily late. */
double rhythm_due(const struct rhythm *rhythm, double at, bool alone);

/* Whether no more have come lately than when the period was learnt, wherever in it. */
bool rhythm_keeps(const struct rhythm *rhythm);

/* Whether they come so often that a prober cannot be found among them, or have paused, as no prober does. */
bool rhythm_is_lost(const struct rhythm *rhythm);

/* Whether `at` is a whole number of periods from one that was not late. */
bool rhythm_explains(const struct rhythm *rhythm, double at);

#endif
