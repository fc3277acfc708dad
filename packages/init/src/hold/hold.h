/* The lame-duck phase: from the signal until the decision that it is safe to stop. Driven by its caller's loop. */
#pragma once

#include "../kernel/pressure.h"
#include "cluster.h"
#include "order.h"
#include "report.h"

struct hold_settings {
	struct drain_config decision;
	struct traffic_settings traffic;
	struct order order;
	double order_timeout; /* ms after which --wait-for and --wait-gone are given up; the cap at the latest */
	struct coordinator_place place;    /* the coordinator to ask */
	const char *program;   /* "init" or "wait" */
	bool trace;	       /* log every second what is seen */
	const char *recording; /* file or directory; NULL: none is made */
};

struct hold {
	const struct hold_settings *settings;
	struct drain drain;
	struct trace recording;
	struct teller teller;
	struct traffic traffic;
	struct pressure pressure;
	struct cluster cluster;
	struct report report; /* what the hold has come to so far */
	bool overrule_reported;
	int order_events;
	double next_poll;
	double events_from; /* not polled before this time, so that events are read in batches */
	double next_progress;
	uint64_t decided_on;  /* the revision of the drain that the decision is valid for */
	double ready_since;   /* when the decision first allowed to stop; NAN before */
	double good_at;	      /* the earliest time of the stop that the decision allows */
	bool forced;		   /* somebody asked for the end of the hold: no file is waited for, either */
	bool order_missed;
};

enum { HOLD_DESCRIPTORS = 2 + COORDINATOR_DESCRIPTORS };

bool in_kubernetes(void);

/* At the start of the program: warns where holds will lack evidence. */
void hold_warn(const struct hold_settings *settings, const struct logger *logger);

/*
 * `why`: "SIGTERM"; NULL for a dry run. `terminated_at`: when the termination began, from which the decision counts. It is `now`, or earlier where a
 * hook is run again.
 */
void hold_begin(struct hold *hold, const struct hold_settings *settings, const struct logger *logger,
		const struct baseline *baseline, const char *why, double terminated_at, double now);

/* The descriptors to poll, -1 where there is none, and the longest wait in ms. */
void hold_descriptors(const struct hold *hold, double now, struct pollfd descriptors[HOLD_DESCRIPTORS]);
int hold_timeout(const struct hold *hold, double now);

/* Observes and decides. True once the hold is over. */
bool hold_step(struct hold *hold, double now);

/* Ends the hold now; `why` is a phrase for the report. */
void hold_force(struct hold *hold, const char *why, double now);

/* Logs that the hold has begun. `why`: "SIGTERM", "dry run". */
void hold_log_begin(const struct hold *hold, const char *why, double now);

/* Logs what happened, and closes everything. `and_then` completes the line: "sending SIGTERM to 7". */
void hold_end(struct hold *hold, const char *and_then, double now);

/*
 * The end is still reported to the coordinator: while this is true hold_report_step() is to be called when one of the descriptors is
 * ready, or after HOLD_REPORT_INTERVAL_MS.
 */
bool hold_is_reporting(const struct hold *hold, double now);
void hold_report_step(struct hold *hold, double now);
enum { HOLD_REPORT_INTERVAL_MS = 100 };

/* Waits until the end is reported: for a moment at most, and not at all for a coordinator that has never answered. */
void hold_await_report(struct hold *hold);
