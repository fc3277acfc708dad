/*
 * Ways to recognise probes. Each is one file that gives a struct probe_classifier. To add one, declare it here and list it in probes.c.
 * No classifier is asked about a connection of LARGEST_PROBE bytes or more, nor while the table of probers is full: those are traffic.
 */
#pragma once

#include "../kernel/address.h"
#include "times.h"

/* Regular probes deviate from their ticks by at most IN_TIME_MS. On a busy node they come late, by at most LATEST_MS, and never early. */
enum { IN_TIME_MS = 100, LATEST_MS = 500 };

enum { MOST_PROBE_PERIODS = 8 };

/* The periods of the pod's probes, one for each probe: a period that two probes share is there twice. */
struct probe_periods {
	double each[MOST_PROBE_PERIODS]; /* ms */
	size_t count;
	bool assumed; /* none is configured */
};

/* The size of a connection of which only TIME_WAIT was seen. */
#define SIZE_UNKNOWN UINT64_MAX

/*
 * Connections from one address with requests of one size. A kubelet's requests all have the same size, and others' differ. That distinguishes
 * them where a node sends traffic from the address that it probes from.
 */
struct prober {
	struct address peer;
	uint64_t size;
	struct times times;
	const struct probe_classifier *known_by; /* NULL where these are no probes, as far as is known */
	double period; /* ms, by regularity; else 0 */
	size_t per_period; /* the number of connections in each period, when the period was found */
};

static inline bool has_size(const struct prober *prober)
{
	return prober->size != SIZE_UNKNOWN;
}

enum probe_verdict {
	NOT_RECOGNISED,
	A_PROBE,
	FIRST_KNOWN_PROBE, /* earlier ones of its address, which were taken for traffic, were probes too */
	NO_PROBE, /* of a known prober, but not one of its probes */
	NO_PROBER, /* earlier ones of its address, which were taken for probes, were traffic */
};

/* The latest of the times of `prober` is to be judged. */
struct probe_sighting {
	struct prober *prober;
	struct prober *without_size; /* connections of the same address from a time when sizes were unknown; NULL where there are none */
	bool other_size_probes; /* connections of this address with another size are known as probes */
	const struct probe_periods *periods;
};

struct probe_classifier {
	/*
	 * Asks whether the connection is a probe. It may change what the probers in `sighting` are known by. It is not called where an earlier classifier
	 * has given a verdict. A prober that is known by another classifier may still come here: the order in probes.c decides who is asked first.
	 */
	enum probe_verdict (*note)(const struct probe_sighting *sighting);
	/* Whether an earlier connection was a probe, of a `prober` that this classifier recognised. */
	bool (*explains)(const struct prober *prober, const struct probe_periods *periods, double at);
	/*
	 * When the probe of `prober` that came `at` was due; NAN where none was due. This classifier has recognised `prober`. `alone`: its address
	 * only probes. NULL: the classifier cannot say.
	 */
	double (*due)(const struct prober *prober, double at, bool alone);
	/* Whether `prober` is surely none and may be forgotten. NULL: it cannot say. */
	bool (*forgets)(const struct prober *prober);
};

extern const struct probe_classifier by_regularity; /* they come at even gaps */
extern const struct probe_classifier by_periods; /* they come at the periods that are configured or assumed */
