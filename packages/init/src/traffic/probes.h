/* Probes are never arrivals. Here their senders are remembered, and the ways to recognise them are asked in turn. */
#pragma once

#include "probe_classifier.h"

enum { MOST_PROBERS = 64 };

/* The default gateway, and who was first to connect to a young pod. */
enum { MOST_LIKELY_PROBERS = 2 };

struct probes {
	struct probe_periods periods;
	struct address likely[MOST_LIKELY_PROBERS]; /* from where the kubelet may probe */
	size_t likely_count;
	struct prober probers[MOST_PROBERS];
	size_t count;
};

/* Where no period is configured, 10 s is assumed: the kubelet's default. */
void probes_begin(struct probes *probes, const struct probe_periods *configured);
void probes_come_from(struct probes *probes, const struct address *peer);

/* A probe's request is a line and a few headers: more bytes are traffic. */
enum { LARGEST_PROBE = 2048 };

struct probe_answer {
	enum probe_verdict verdict;
	/*
	 * Whether the connection may be a probe, though nothing shows it yet: the kubelet may probe from there, and there have been no more connections than
	 * its probes make.
	 */
	bool may_be_probe;
};

/* The kind of a connection of `peer` that came at `came_at` with `size` bytes. It is noted with the time `at`, when it came or ended. */
struct probe_answer probes_note(struct probes *probes, const struct address *peer, uint64_t size, double at, double came_at);

/* Whether an earlier connection with `size` bytes at `at` was a probe, by what is known now. */
bool probes_explain(const struct probes *probes, const struct address *peer, uint64_t size, double at);

/* Whether the connections of `peer` without a size are no more than its probes would be. */
bool probes_are_all(struct probes *probes, const struct address *peer);

/* Whether `peer` is known as a prober. */
bool probes_know(const struct probes *probes, const struct address *peer);
