/* What the cluster says of the pod's consumers: the mirror of packages/drain/src/release.ts. */
#pragma once

#include <stdbool.h>

enum { RELEASE_SENDER = 48, RELEASE_SENDERS = 16 };

struct release_sender {
	char name[RELEASE_SENDER];
	/* A connection came between `at - earlier` and `at`. */
	double latest; /* the largest `at` of its connections */
	double surest; /* the largest `at - earlier`: some connection came at this time or later for sure */
	double surest_at; /* the `at` of that connection */
};

struct release {
	double settle;
	bool given;
	double given_at;
	struct release_sender senders[RELEASE_SENDERS]; /* kept by sender, since any of them may turn out to be a prober */
	unsigned sender_count;
	double latest_of_others;
	bool overruled; /* a connection came although all consumers had reported that they let go */
	char overruled_by[RELEASE_SENDER];
	double overruled_at;
	double assumed_until; /* until then senders that nobody asks may choose the pod; -INFINITY where nothing is said of them */
	bool local; /* no release will come: the pod's own evidence decides */
};

void release_init(struct release *release, double settle);
/* A second release does not count. */
void release_give(struct release *release, double at);
/* Senders that nobody asks are assumed to choose the pod for `assumed` ms from `at` on. The latest that was said counts. */
void release_withdraw(struct release *release, bool local, double at, double assumed);
/* A connection came between `at - earlier` and `at`. */
void release_connection(struct release *release, const char *sender, double at, double earlier);
/* Forgets the connections of `sender`: they were probes, or they are observed again. */
void release_forget(struct release *release, const char *sender);
bool release_stands(const struct release *release);
/* The time from which on the release says as much as the silence of all senders; INFINITY where there is no release. */
double release_settled_at(const struct release *release);
/* Until then senders that nobody asks may choose the pod, unless it is released. */
double release_assumed_until(const struct release *release);
