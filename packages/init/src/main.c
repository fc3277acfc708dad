#include "cli/variables.h"
#include "cli/help.h"
#include "cli/settings.h"
#include "end.h"
#include "init.h"
#include "wait.h"

#include <stdio.h>

static enum log_level log_level_of(const struct settings *settings)
{
	/* dumb-init has no levels: it logs everything or nothing. */
	if (settings->personality == PERSONALITY_DUMB_INIT && settings->verbosity > 0)
		return LOG_TRACE;
	int level = (settings->personality == PERSONALITY_OWN ? LOG_NOTE : LOG_WARNING) + settings->verbosity;
	return level < LOG_ERROR ? LOG_ERROR : (enum log_level)level;
}

static int refuse(const struct settings *settings, const struct logger *logger, const struct error *error)
{
	char text[768], fields[256], place[2 * sizeof error->option];
	snprintf(text, sizeof text, "%s: %s: %s; %s (%s --help lists all options)", error_name(error->code), error->option,
		 error->problem, error_remedy(error->code), logger->name);
	snprintf(fields, sizeof fields, "\"code\":\"%s\",\"option\":\"%s\"", error_name(error->code),
		 json_escape(error->option, place, sizeof place));
	log_with(logger, LOG_ERROR, fields, text);
	/* As tini and dumb-init do. */
	return settings->personality == PERSONALITY_OWN ? 2 : 1;
}

static void warn(const struct settings *settings, const struct logger *logger)
{
	warn_of_misspelt_variables(logger);
	if (*settings->notice)
		log_line(logger, LOG_WARNING, "%s", settings->notice);
}

int main(int argc, char *argv[])
{
	/* Some kilobytes; static, as PID 1 keeps it for the container's whole life. */
	static struct settings settings;
	struct error error = { 0 };
	bool understood = settings_read(&settings, argc, argv, &error);
	const struct logger logger = {
		.name = settings.name,
		.most = log_level_of(&settings),
		.json = settings.json,
		.also = -1,
	};
	if (!understood)
		return refuse(&settings, &logger, &error);
	if (settings.action == ACTION_RUN || settings.action == ACTION_WAIT)
		warn(&settings, &logger);
	switch (settings.action) {
	case ACTION_RUN:
		return run_init(&settings, &logger);
	case ACTION_WAIT:
		return run_wait(&settings, &logger);
	case ACTION_END:
		return run_end(&logger);
	case ACTION_HELP:
	case ACTION_VERSION:
	case ACTION_LICENSE:
		print_information(&settings);
		return 0;
	}
	return 3;
}
