/* The settings of a hold, checked: the mirror of packages/drain/src/config.ts. */
#ifndef LAMEDUCK_CONFIG_H
#define LAMEDUCK_CONFIG_H

#include "errors.h"
#include "hypotheses.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* POLICY_ACKNOWLEDGED: by all consumers that the cluster knows; where it cannot say so, evidence decides. */
enum policy_kind { POLICY_FIXED, POLICY_UNTIL_DEADLINE, POLICY_QUIET, POLICY_ADAPTIVE, POLICY_ACKNOWLEDGED };

/* What a user said, as text; NULL where nothing was said. */
struct drain_options {
	const char *policy;
	const char *floor;
	const char *cap;
	const char *grace;
	const char *prestop;
	const char *reserve;
	const char *delay;
	const char *window;
	const char *loss_budget;
	const char *convergence;
	const char *learnt;
	const char *request_quiet;
	const char *settle;
	const char *max_senders;
};

/* All times in ms; floor and cap count from the beginning of the hold. */
struct drain_config {
	enum policy_kind policy;
	double delay;
	double window;
	double loss_budget;
	double convergence;
	struct prior prior;
	const char *learnt; /* the text of the prior; NULL where there is none, or none that is read */
	double floor;
	double cap;
	double prestop;
	double reserve;
	double request_quiet;
	double settle;
	size_t max_senders;
};

extern const char *const policy_names[];

/* False with `error` filled in when the options contradict one another. */
bool parse_config(const struct drain_options *options, struct drain_config *config, struct error *error);

#endif
