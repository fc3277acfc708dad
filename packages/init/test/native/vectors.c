/*
 * Plays decision vectors, given as lines of text, on virtual time: the mirror of runVector in packages/drain/test/vectors.ts.
 *
 *     option NAME VALUE          a setting, by the name it has in DrainOptions
 *     see TYPE AT NAME VALUE     an observation; NAME and VALUE are "-" where the type has none; of a connection VALUE is "old", or by how many ms it
 *                                may have come earlier; of "unreleased" NAME is for how many ms senders are assumed to go on
 *     forget NAME AT             what the sender did so far was no traffic
 *     coverage SHARE               of the connections before the termination, the share that is told of
 *     end                        answers "STOP REASON LOSS UNMET" or "error CODE OPTION". LOSS is the loss expected at the stop. UNMET are the
 *                                conditions that were not met, such as "silence+requests", or "-".
 */
#include "../../src/decision/drain.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OBSERVATIONS = 4000000 };

static struct observation *seen;
static size_t seen_count;
static double coverage = 1;

static const char **option_named(struct drain_options *options, const char *name)
{
	const struct {
		const char *name;
		const char **value;
	} known[] = {
		{ "policy", &options->policy },
		{ "floor", &options->floor },
		{ "cap", &options->cap },
		{ "grace", &options->grace },
		{ "prestop", &options->prestop },
		{ "reserve", &options->reserve },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].value;
	for (size_t i = 0; i < drain_number_count; i++)
		if (strcmp(drain_numbers[i].in_code, name) == 0)
			return (const char **)((char *)options + drain_numbers[i].said);
	fprintf(stderr, "no such option: %s\n", name);
	exit(2);
}

static enum observation_type type_named(const char *name)
{
	static const char *const names[] = { "watching",  "termination", "connection", "request",
					     "in-flight", "released", "unreleased", "force", "pool", "busy" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], name) == 0)
			return (enum observation_type)i;
	fprintf(stderr, "no such observation: %s\n", name);
	exit(2);
}

/* "loss-budget" is lossBudget in DrainOptions. */
static const char *in_code(char *option)
{
	for (char *dash; (dash = strchr(option, '-'));) {
		memmove(dash, dash + 1, strlen(dash));
		*dash = (char)toupper((unsigned char)*dash);
	}
	return option;
}

static void print_answer(const struct drain *drain, double now, enum stop_reason reason)
{
	const struct explanation explanation = drain_explain(drain, now);
	printf("%.17g %s %.17g ", now, stop_reason_names[reason], explanation.expected_loss);
	const char *before = "";
	for (int kind = 0; kind < WAIT_KINDS; kind++)
		if (isinf(explanation.met_at[kind])) {
			printf("%s%s", before, waiting_for_names[kind]);
			before = "+";
		}
	puts(*before ? "" : "-");
}

static void play(const struct drain_options *options)
{
	struct drain_config config;
	struct error error;
	if (!parse_config(options, &config, &error)) {
		printf("error %s %s\n", error_name(error.code), in_code(error.option));
		return;
	}
	struct drain drain;
	drain_init(&drain, &config);
	size_t next = 0;
	double now = seen_count > 0 ? seen[0].at : 0;
	for (;;) {
		for (; next < seen_count && seen[next].at <= now; next++) {
			if (seen[next].type == SEEN_TERMINATION)
				drain_observe(&drain, &(struct observation){ .type = SEEN_COVERAGE, .value = coverage });
			drain_observe(&drain, &seen[next]);
		}
		struct decision decision = drain_decide(&drain, now);
		if (decision.stop) {
			print_answer(&drain, now, decision.reason);
			break;
		}
		now = fmin(next < seen_count ? seen[next].at : INFINITY, decision.until);
		if (isinf(now)) {
			printf("error no-termination -\n");
			break;
		}
	}
	drain_free(&drain);
}

int main(void)
{
	struct drain_options options = { 0 };
	char *line = NULL;
	size_t size = 0;
	seen = calloc(MOST_OBSERVATIONS, sizeof *seen);
	while (seen && getline(&line, &size, stdin) > 0) {
		char word[20], name[200], value[2000], at[64];
		if (sscanf(line, "option %199s %1999s", name, value) == 2) {
			*option_named(&options, name) = strdup(value);
		} else if (sscanf(line, "see %19s %63s %199s %199s", word, at, name, value) == 4) {
			if (seen_count == MOST_OBSERVATIONS)
				return 3;
			seen[seen_count++] = (struct observation){ .type = type_named(word),
								   .at = strtod(at, NULL),
								   .name = strdup(name),
								   .value = strtod(value, NULL),
								   .assumed = strtod(name, NULL),
								   .earlier = strtod(value, NULL),
								   .old = strcmp(value, "old") == 0 };
		} else if (sscanf(line, "forget %199s %63s", name, at) == 2 && seen_count < MOST_OBSERVATIONS) {
			seen[seen_count++] =
				(struct observation){ .type = SEEN_FORGOTTEN, .at = strtod(at, NULL), .name = strdup(name) };
		} else if (sscanf(line, "coverage %63s", at) == 1) {
			coverage = strtod(at, NULL);
		} else if (strcmp(line, "end\n") == 0) {
			play(&options);
			coverage = 1;
			fflush(stdout);
			options = (struct drain_options){ 0 };
			seen_count = 0;
		} else {
			fprintf(stderr, "not understood: %s", line);
			return 2;
		}
	}
	return 0;
}
