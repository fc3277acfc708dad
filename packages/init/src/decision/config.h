/* The settings of a hold, checked: the mirror of packages/drain/src/config.ts. */
#pragma once

#include "errors.h"
#include "options.h"

#include <stdbool.h>
#include <stddef.h>

/* POLICY_ACKNOWLEDGED: acknowledged by all consumers that the cluster knows. Where the cluster cannot say so, evidence decides. */
enum policy_kind { POLICY_FIXED, POLICY_UNTIL_DEADLINE, POLICY_QUIET, POLICY_ADAPTIVE, POLICY_ACKNOWLEDGED };

/* All times in ms; floor and cap count from the beginning of the hold. */
struct drain_config {
	enum policy_kind policy;
#define MEMBER(member, ...) double member;
	DRAIN_NUMBERS(MEMBER)
#undef MEMBER
	double floor;
	double cap;
	double prestop;
	double reserve;
};

/* An option that is a number and is checked by itself. */
struct drain_number {
	const char *flag;
	const char *in_code; /* its name in code, and in recordings */
	enum { DURATION, POSITIVE_DURATION, POSITIVE, WHOLE } form;
	double fallback; /* NAN: there is none */
	double least, most; /* the bounds of a WHOLE */
	int users; /* a bit for each policy that uses it */
	size_t said; /* in struct drain_options */
	size_t kept; /* in struct drain_config */
};

extern const struct drain_number drain_numbers[];
extern const size_t drain_number_count;

bool drain_number_counts(const struct drain_number *number, enum policy_kind policy);
double drain_number_of(const struct drain_number *number, const struct drain_config *config);
/* The option as the user wrote it; NULL where it is missing. */
const char *drain_number_said(const struct drain_number *number, const struct drain_options *options);

extern const char *const policy_names[];

/* False with `error` filled in when the options contradict one another. */
bool parse_config(const struct drain_options *options, struct drain_config *config, struct error *error);
