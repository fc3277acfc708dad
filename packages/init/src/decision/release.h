/* What the cluster says of the pod's consumers: the mirror of packages/drain/src/release.ts. */
#ifndef LAMEDUCK_RELEASE_H
#define LAMEDUCK_RELEASE_H

#include <stdbool.h>

enum { RELEASE_SENDER = 48, RELEASE_SENDERS = 16 };

struct release_sender {
	char name[RELEASE_SENDER];
	double latest; /* when its latest connection came at the latest */
	double surest; /* the latest of the earliest possible times of its connections, */
	double surest_at; /* and when that one was told to have come */
};

struct release {
	double settle;
	bool given;
	double given_at;
	struct release_sender senders[RELEASE_SENDERS]; /* those that connected last: each may turn out to be a prober */
	unsigned sender_count;
	double latest_of_others;
	bool overruled; /* by a connection that came after all had let go, as they said */
	char overruled_by[RELEASE_SENDER];
	double overruled_at;
	bool local; /* nobody will release the pod: what it sees itself decides */
};

void release_init(struct release *release, double settle);
/* Given twice, the first counts. */
void release_give(struct release *release, double at);
void release_withdraw(struct release *release, bool local);
/* It came between `at - earlier` and `at`. */
void release_connection(struct release *release, const char *sender, double at, double earlier);
/* What it did was no traffic, or is told again. */
void release_forget(struct release *release, const char *sender);
bool release_stands(const struct release *release);
/* From when on it says as much as the silence of all senders; INFINITY where there is none. */
double release_settled_at(const struct release *release);

#endif
