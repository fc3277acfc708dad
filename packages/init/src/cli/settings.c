#include "settings.h"

#include "../base/text.h"
#include "arguments.h"
#include "hold_settings.h"
#include "variables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum personality personality_of(const char *name)
{
	if (strcmp(name, "tini") == 0 || strcmp(name, "tini-static") == 0 || strcmp(name, "docker-init") == 0)
		return PERSONALITY_TINI;
	return strcmp(name, "dumb-init") == 0 ? PERSONALITY_DUMB_INIT : PERSONALITY_OWN;
}

static bool is_true(const char *value)
{
	return value && *value && strcmp(value, "0") != 0 && strcmp(value, "false") != 0;
}

/* The variables of tini and dumb-init. */
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

static bool is(const char *said, const char *choice)
{
	return said && strcmp(said, choice) == 0;
}

static bool read_choices(struct settings *settings, struct error *error)
{
	for (size_t i = 0; i < flag_count; i++) {
		const char *const *choices = flags[i].choices;
		const char *said = choices[0] ? *flag_text(settings, &flags[i]) : NULL;
		if (!said || is(said, choices[0]) || is(said, choices[1]))
			continue;
		error_set(error, ERROR_BAD_CHOICE, flags[i].name, "\"%s\" is not \"%s\" or \"%s\"", said, choices[0], choices[1]);
		return false;
	}
	settings->hold.traffic.wait_for_streams = is(settings->streams, "wait");
	settings->hold.place.consistency = is(settings->mode, "consistency");
	settings->json = is(settings->log, "json");
	return true;
}

static bool check_then(struct settings *settings, struct error *error)
{
	char place[LONGEST_PLACE];
	if (!settings->then_signal)
		return true;
	if (given_by_variable(settings, "then", place)) {
		snprintf(settings->notice, sizeof settings->notice, "%s does nothing: only wait sends it", place);
		return true;
	}
	error_set(error, ERROR_UNKNOWN_OPTION, "--then", "is an option of wait; with a program it is --signal TERM=%d",
		  settings->then_signal);
	return false;
}

static bool check_path(const char *path, const char *option, struct error *error)
{
	if (!path || *path)
		return true;
	error_set(error, ERROR_BAD_CHOICE, option, "\"\" is no path");
	return false;
}

/* A recording is for diagnosis: a mistake in its variable must not keep a program from starting. */
static bool check_recording(struct settings *settings, struct error *error)
{
	const char *path = settings->hold.recording;
	char place[LONGEST_PLACE];
	if (!path || *path == '/')
		return true;
	if (given_by_variable(settings, "trace", place)) {
		snprintf(settings->notice, sizeof settings->notice, "%s: \"%.200s\" is not an absolute path; no hold is recorded",
			 place, path);
		settings->hold.recording = NULL;
		return true;
	}
	error_set(error, ERROR_BAD_CHOICE, "trace", "\"%s\" is not an absolute path", path);
	return false;
}

static bool read_parent_death(struct settings *settings, struct error *error)
{
	if (!settings->parent_death)
		return true;
	settings->parent_death_signal = signal_number(settings->parent_death);
	if (settings->parent_death_signal)
		return true;
	error_set(error, ERROR_BAD_SIGNAL, "parent-death", "\"%s\" is no signal", settings->parent_death);
	return false;
}

/* Read first, so that mistakes are reported in the form that was asked for. */
static bool wants_json(int argc, char *const *argv)
{
	const char *log = getenv("LAMEDUCK_LOG");
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--log") == 0 && i + 1 < argc)
			log = argv[i + 1];
		else if (strncmp(argv[i], "--log=", 6) == 0)
			log = argv[i] + 6;
	}
	return log && strcmp(log, "json") == 0;
}

static bool read_values(struct settings *settings, struct error *error)
{
	const struct order *order = &settings->hold.order;
	if (read_choices(settings, error) && read_parent_death(settings, error) &&
	    check_path(order->ready_file, "ready-file", error) && check_path(order->done_file, "done-file", error) &&
	    check_recording(settings, error) &&
	    read_hold_settings(settings, error))
		return true;
	char place[LONGEST_PLACE];
	given_by_variable(settings, error->option, place);
	snprintf(error->option, sizeof error->option, "%s", place);
	return false;
}

bool settings_read(struct settings *settings, int argc, char *const *argv, struct error *error)
{
	memset(settings, 0, sizeof *settings);
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	settings->name = slash ? slash + 1 : argc > 0 ? argv[0] : "lameduck-init";
	settings->personality = personality_of(settings->name);
	settings->json = wants_json(argc, argv);
	translation_init(&settings->translation);
	read_foreign_environment(settings);
	bool understood = flags_from_environment(settings, error);
	const char *first = settings->personality == PERSONALITY_OWN && argc > 1 ? argv[1] : NULL;
	if (is(first, "wait"))
		settings->action = ACTION_WAIT;
	else if (is(first, "end"))
		settings->action = ACTION_END;
	int next = settings->action == ACTION_RUN ? 1 : 2;
	struct error of_arguments;
	if (!flags_from_arguments(settings, argc, argv, &next, understood ? error : &of_arguments))
		return false;
	if (settings->action == ACTION_END && next < argc) {
		error_set(error, ERROR_UNKNOWN_OPTION, argv[next], "end takes no argument: it ends all holds of this container");
		return false;
	}
	/* Help is printed whatever the variables say, as a user asks for it after a mistake. A hold can be ended in the same way. */
	if (settings->action != ACTION_RUN && settings->action != ACTION_WAIT)
		return true;
	if (!understood)
		return false;
	if (settings->personality != PERSONALITY_OWN && !settings->any_hold_option)
		settings->no_hold = true;
	if (settings->stop_signals == 0)
		settings->stop_signals = mask_of(SIGTERM);
	settings->command = argv + next;
	if (settings->action == ACTION_RUN && next >= argc) {
		error_set(error, ERROR_MISSING_COMMAND, "PROGRAM", "there is no program to run");
		return false;
	}
	if (settings->action == ACTION_RUN && !check_then(settings, error))
		return false;
	if (settings->action == ACTION_WAIT && next < argc) {
		error_set(error, ERROR_UNKNOWN_OPTION, argv[next], "wait takes no program: it waits beside one that runs");
		return false;
	}
	return read_values(settings, error);
}
