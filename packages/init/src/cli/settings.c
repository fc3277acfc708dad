#include "settings.h"

#include "../base/text.h"
#include "../decision/duration.h"
#include "flags.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum personality called(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	if (strcmp(name, "tini") == 0 || strcmp(name, "tini-static") == 0 || strcmp(name, "docker-init") == 0)
		return PERSONALITY_TINI;
	return strcmp(name, "dumb-init") == 0 ? PERSONALITY_DUMB_INIT : PERSONALITY_OWN;
}

static bool is_true(const char *value)
{
	return value && *value && strcmp(value, "0") != 0 && strcmp(value, "false") != 0;
}

/* The variables of the programs that we stand in for. */
static void read_foreign_environment(struct settings *settings)
{
	const char *verbosity = getenv("TINI_VERBOSITY");
	uint64_t level;
	if (settings->personality != PERSONALITY_DUMB_INIT) {
		settings->subreaper = settings->subreaper || getenv("TINI_SUBREAPER");
		settings->group = settings->group || getenv("TINI_KILL_PROCESS_GROUP");
		if (verbosity && is_number(verbosity, 0, 9, &level))
			settings->verbosity = (int)level - 1;
	}
	if (settings->personality != PERSONALITY_TINI) {
		const char *session = getenv("DUMB_INIT_SETSID");
		settings->single_child = settings->single_child || (session && strcmp(session, "0") == 0);
		settings->verbosity += is_true(getenv("DUMB_INIT_DEBUG"));
	}
}

static bool read_choices(struct settings *settings, struct error *error)
{
	const char *streams = settings->streams ? settings->streams : "ignore";
	settings->hold.traffic.wait_for_streams = strcmp(streams, "wait") == 0;
	if (!settings->hold.traffic.wait_for_streams && strcmp(streams, "ignore") != 0) {
		error_set(error, ERROR_BAD_CHOICE, "streams", "\"%s\" is neither ignore nor wait", streams);
		return false;
	}
	const char *log = settings->log ? settings->log : "text";
	settings->json = strcmp(log, "json") == 0;
	if (!settings->json && strcmp(log, "text") != 0) {
		error_set(error, ERROR_BAD_CHOICE, "log", "\"%s\" is neither text nor json", log);
		return false;
	}
	return true;
}

static bool read_hold(struct settings *settings, struct error *error)
{
	if (!parse_config(&settings->decision, &settings->hold.decision, error))
		return false;
	if (settings->hold.decision.policy == POLICY_ACKNOWLEDGED) {
		error_set(error, ERROR_UNKNOWN_POLICY, "policy",
			  "acknowledgements do not reach an init; it knows fixed, until-deadline, quiet and adaptive");
		return false;
	}
	settings->hold.order_patience = INFINITY;
	const char *problem;
	if (settings->order_timeout &&
	    !parse_duration(settings->order_timeout, &settings->hold.order_patience, &problem)) {
		error_set(error, ERROR_BAD_DURATION, "order-timeout", "\"%s\" %s", settings->order_timeout, problem);
		return false;
	}
	settings->hold.trace = settings->dry_run || settings->verbosity >= 2;
	return true;
}

static bool read_parent_death(struct settings *settings, struct error *error)
{
	if (!settings->parent_death)
		return true;
	settings->parent_death_signal = signal_number(settings->parent_death);
	if (settings->parent_death_signal)
		return true;
	error_set(error, ERROR_BAD_SIGNAL, "-p", "\"%s\" is no signal", settings->parent_death);
	return false;
}

bool settings_read(struct settings *settings, int argc, char *const *argv, struct error *error)
{
	memset(settings, 0, sizeof *settings);
	settings->personality = called(argc > 0 ? argv[0] : "");
	settings->verbosity = 0;
	translation_init(&settings->translation);
	read_foreign_environment(settings);
	if (!flags_from_environment(settings, error))
		return false;
	int next = 1;
	if (settings->personality == PERSONALITY_OWN && argc > 1 && strcmp(argv[1], "wait") == 0) {
		settings->action = ACTION_WAIT;
		next = 2;
	}
	if (!flags_from_arguments(settings, argc, argv, &next, error))
		return false;
	if (settings->action != ACTION_RUN && settings->action != ACTION_WAIT)
		return true;
	if (settings->personality != PERSONALITY_OWN && !settings->any_hold_option)
		settings->no_hold = true;
	if (settings->stop_signals == 0)
		settings->stop_signals = mask_of(SIGTERM);
	settings->command = argv + next;
	if (settings->action == ACTION_RUN && next >= argc) {
		error_set(error, ERROR_MISSING_COMMAND, "PROGRAM", "there is no program to run");
		return false;
	}
	if (settings->action == ACTION_WAIT && next < argc) {
		error_set(error, ERROR_UNKNOWN_OPTION, argv[next], "wait takes no program: it waits beside one that runs");
		return false;
	}
	return read_parent_death(settings, error) && read_choices(settings, error) && read_hold(settings, error);
}
