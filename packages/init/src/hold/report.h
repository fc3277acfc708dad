/* The reports of a hold, in the log and to the coordinator. */
#pragma once

#include "../base/log.h"
#include "../coordinator/coordinator.h"
#include "../traffic/traffic.h"

struct report {
	const struct logger *logger;
	const char *program; /* "init" or "wait" */
	const struct drain *drain;
	const struct traffic *traffic;
	const struct coordinator *coordinator;
	double began;
	struct decision decision;
	const char *ended_by; /* what ended the hold, where that was not the decision; else NULL */
};

/* One line that says that the hold has begun, why ("SIGTERM", "preStop") and how long it may take. */
void report_begin(const struct report *report, const char *why, double now);

/* Why the hold ended, in a word. */
const char *report_reason(const struct report *report);

/* One line that says why the hold ended and what was seen of the traffic meanwhile. */
void report_end(const struct report *report, const char *and_then, double now);

/* One line that says what is seen now and what is waited for. */
void report_now(const struct report *report, double now);

/* The lines for the coordinator. */
void report_message(const struct report *report, bool ended, char message[MOST_MESSAGE], double now);
