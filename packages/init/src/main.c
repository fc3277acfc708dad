#include "cli/help.h"
#include "cli/settings.h"
#include "init.h"
#include "wait.h"

#include <string.h>

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static enum say_level most_said(const struct settings *settings)
{
	int level = (settings->personality == PERSONALITY_OWN ? SAY_NOTE : SAY_WARNING) + settings->verbosity;
	return level < SAY_ERROR ? SAY_ERROR : (enum say_level)level;
}

static int refuse(const struct settings *settings, const struct speaker *speaker, const struct error *error)
{
	const char *remedy = error_remedy(error->code);
	say(speaker, SAY_ERROR, "%s: %s: %s; %s", error_name(error->code), error->option, error->problem, remedy);
	/* As tini and dumb-init do. */
	return settings->personality == PERSONALITY_OWN ? 2 : 1;
}

int main(int argc, char *argv[])
{
	/* Some kilobytes; static, as PID 1 keeps it for the container's whole life. */
	static struct settings settings;
	struct error error = { 0 };
	bool understood = settings_read(&settings, argc, argv, &error);
	const struct speaker speaker = {
		.name = argc > 0 ? base_name(argv[0]) : "lameduck-init",
		.most = most_said(&settings),
		.json = settings.json,
	};
	if (!understood)
		return refuse(&settings, &speaker, &error);
	switch (settings.action) {
	case ACTION_RUN:
		return run_init(&settings, &speaker);
	case ACTION_WAIT:
		return run_wait(&settings, &speaker);
	case ACTION_HELP:
	case ACTION_VERSION:
	case ACTION_LICENSE:
		print_information(&settings);
		return 0;
	}
	return 3;
}
