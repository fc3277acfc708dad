/* The options of the decision.
 * Written by `node packages/options/generate/main.ts` from packages/options/src/table.ts. */
#pragma once

/* What a user said, as text; NULL where nothing was said. */
struct drain_options {
	const char *policy;
	const char *grace;
	const char *prestop;
	const char *reserve;
	const char *floor;
	const char *cap;
	const char *loss_budget;
	const char *convergence;
	const char *window;
	const char *delay;
	const char *request_quiet;
	const char *max_senders;
	const char *settle;
};

/* Milliseconds. */
#define DEFAULT_POLICY "adaptive"
#define DEFAULT_GRACE 30000
#define DEFAULT_PRESTOP 0
#define DEFAULT_RESERVE 5000
#define DEFAULT_FLOOR 1000
#define DEFAULT_LOSS_BUDGET 0.001
#define DEFAULT_CONVERGENCE 4000
#define DEFAULT_WINDOW 5000
#define DEFAULT_REQUEST_QUIET 1000
#define DEFAULT_MAX_SENDERS 128
#define DEFAULT_SETTLE 500

/* Numbers that stand for themselves: member, flag, name in code, form, default, least, most, policies that use it. NAN: there is none. */
#define DRAIN_NUMBERS(NUMBER) \
	NUMBER(loss_budget, "loss-budget", "lossBudget", POSITIVE, DEFAULT_LOSS_BUDGET, NAN, NAN, 1 << POLICY_ADAPTIVE | 1 << POLICY_ACKNOWLEDGED) \
	NUMBER(convergence, "convergence", "convergence", POSITIVE_DURATION, DEFAULT_CONVERGENCE, NAN, NAN, 1 << POLICY_ADAPTIVE | 1 << POLICY_ACKNOWLEDGED) \
	NUMBER(window, "window", "window", DURATION, DEFAULT_WINDOW, NAN, NAN, 1 << POLICY_QUIET) \
	NUMBER(delay, "delay", "delay", DURATION, NAN, NAN, NAN, 1 << POLICY_FIXED) \
	NUMBER(request_quiet, "request-quiet", "requestQuiet", DURATION, DEFAULT_REQUEST_QUIET, NAN, NAN, ~0) \
	NUMBER(max_senders, "max-senders", "maxSenders", WHOLE, DEFAULT_MAX_SENDERS, 1, 4096, ~0) \
	NUMBER(settle, "settle", "settle", DURATION, DEFAULT_SETTLE, NAN, NAN, ~0)
