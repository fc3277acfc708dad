/* The decision when a terminating pod may stop: the mirror of packages/drain/src/drain.ts. No clock, no I/O. */
#pragma once

#include "config.h"
#include "release.h"
#include "senders.h"

enum stop_reason {
	STOP_DELAY,
	STOP_FLOOR,
	STOP_QUIET,
	STOP_IDLE,
	STOP_ACKNOWLEDGED,
	STOP_CAP,
	STOP_FORCED,
};

enum waiting_for {
	WAIT_TERMINATION,
	WAIT_FLOOR,
	WAIT_DELAY,
	WAIT_DEADLINE,
	WAIT_SILENCE,
	WAIT_ACKNOWLEDGEMENTS,
	WAIT_IN_FLIGHT,
	WAIT_REQUESTS,
	WAIT_PROCESSOR,
	WAIT_GAP,
	WAIT_KINDS,
};

extern const char *const stop_reason_names[];
extern const char *const waiting_for_names[];

struct decision {
	bool stop;
	enum stop_reason reason;      /* where stop */
	double until;                 /* where not: the time to ask again */
	enum waiting_for waiting_for; /* where not */
};

enum observation_type {
	SEEN_WATCHING,
	SEEN_TERMINATION,
	SEEN_CONNECTION,
	SEEN_REQUEST, /* on an older connection */
	SEEN_IN_FLIGHT,
	SEEN_RELEASED,
	SEEN_UNRELEASED,
	SEEN_FORCE,
	SEEN_POOL, /* the latest request or answer on old connections of pools, which no hold ends */
	SEEN_BUSY, /* programs of the machine wait for a processor */
	/* Corrections of earlier observations. */
	SEEN_SETTLED, /* habits of senders are learnt from here on; it is still known that each of them has sent */
	SEEN_COVERAGE, /* only the share `value` of the connections before the hold was seen */
	SEEN_FORGOTTEN, /* all connections of a sender are forgotten, as some were probes; SEEN_AGAIN brings the others */
	SEEN_AGAIN,
};

struct observation {
	enum observation_type type;
	double at;
	const char *name;  /* the sender; for a release the consumer that let go last, or NULL */
	double value;      /* the change of requests in flight; the share; 1 where no release is to be waited for */
	const char *consumers; /* for a release, and for people: "5/5", or NULL */
	double assumed; /* where there is no release: so many ms from `at` on senders that nobody asks may choose the pod */
	double earlier; /* for a connection: it came between `at - earlier` and `at` */
	bool old; /* a request on a connection that was open before, observed as a connection; it does not disprove a release */
};

/* The senders and conditions that a hold waited for, and until when: the mirror of Timeline in packages/drain/src/explain/conditions.ts. */
struct explanation {
	double expected_loss;
	struct pending_sender pending;
	double met_at[WAIT_KINDS]; /* ms after SIGTERM; INFINITY where it is not met, NAN where it was never waited for */
};

struct drain {
	struct drain_config config;
	struct sender_table senders;
	bool watching;
	bool terminated;
	double terminated_at;
	bool forced;
	double in_flight;
	double last_connection;
	double last_request;
	double last_of_pools; /* -INFINITY for none */
	double last_busy; /* when the processors were last seen to be busy; -INFINITY for never */
	double allowed_at; /* when the stop was first allowed but for a good moment; NAN before */
	bool traffic_known;
	double requests; /* since the hold began */
	struct release release;
	double met_at[WAIT_KINDS]; /* NAN where it is not */
	bool met; /* the latest decision is a stop, and every condition was met */
	enum waiting_for waiting; /* WAIT_TERMINATION where nothing is waited for */
	uint64_t observed; /* counts what may have changed the expected loss */
	double weigh_at;  /* when the evidence is weighed again */
	uint64_t enough;  /* the count `observed` at which the expected loss was low enough; UINT64_MAX for none */
	uint64_t revision; /* changes with each observation and correction; a decision is valid for its revision */
};

void drain_init(struct drain *drain, const struct drain_config *config);
void drain_free(struct drain *drain);
void drain_observe(struct drain *drain, const struct observation *seen);
struct decision drain_decide(struct drain *drain, double now);
struct explanation drain_explain(const struct drain *drain, double now);
double drain_expected_loss(const struct drain *drain, double now);
/* How long senders are assumed to take on average, ms. A policy that weighs no evidence has no time of its own. */
double drain_convergence(const struct drain_config *config);
