/*
 * The conversation with the cluster's coordinator during a hold: asks whether every sender has converged, and reports the pod's progress.
 * Nothing is opened before the hold. No call blocks, and a coordinator that fails does not prolong the hold.
 */
#pragma once

#include "../base/log.h"
#include "exchange.h"
#include "lookup.h"
#include "status.h"
#include "place.h"

enum { COORDINATOR_DESCRIPTORS = 2, MOST_MESSAGE = 3072 };

struct coordinator {
	const struct coordinator_place *place;
	const struct logger *logger;
	bool on;
	bool found; /* the addresses are known */
	bool looking_up;
	bool silent; /* no answer, though one is due */
	bool version_noted; /* the log says that it speaks another version */
	double lookup_began;
	unsigned turn; /* the address that comes next; another one after each failure */
	unsigned failures; /* failed questions since the latest answer */
	double failing_since;
	struct lookup lookup;
	struct exchange asking, reporting;
	struct http_answer answer;
	struct status status; /* the latest answer that counts; STATUS_NOTHING where there is none */
	enum status_state seen; /* of the latest answer */
	double assumed_until; /* until then senders for which nothing reports may choose the pod, as any answer said; -INFINITY for none */
	bool ends_hold; /* an answer has asked for the end of the hold */
	double ask_at;
	double find_at;
	double report_at;
	double report_pause; /* before the next try, if this one fails */
	double report_until;
	char message[MOST_MESSAGE]; /* the report that was not taken yet; empty where there is none */
};

/* Without a url in `place` no coordinator is asked, and all functions here return at once. */
void coordinator_begin(struct coordinator *coordinator, const struct coordinator_place *place, const struct logger *logger, double now);

void coordinator_step(struct coordinator *coordinator, double now);

/* What to poll for; a descriptor of -1 where there is nothing. */
void coordinator_descriptors(const struct coordinator *coordinator, double now,
			     struct pollfd descriptors[COORDINATOR_DESCRIPTORS]);

/* Reports these lines. An earlier report that was not taken is dropped, as each report is complete. */
void coordinator_report(struct coordinator *coordinator, const char *message);

/* Nothing more is asked. The last report is tried until then. */
void coordinator_stop_asking(struct coordinator *coordinator, double report_until);
bool coordinator_is_reporting(const struct coordinator *coordinator, double now);

void coordinator_end(struct coordinator *coordinator);
