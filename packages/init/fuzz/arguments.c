/* Whatever stands on the command line and in the environment: words between zero bytes, LAMEDUCK_X=VALUE for the latter. */
#include "../src/cli/settings.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_WORDS = 32 };

static void check(const struct settings *settings)
{
	const struct drain_config *config = &settings->hold.decision;
	bool runs = settings->action == ACTION_RUN || settings->action == ACTION_WAIT;
	/* What was accepted makes sense. */
	if (runs && (!(config->cap > 0) || !(config->floor >= 0) || config->floor > config->cap))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	char *argv[MOST_WORDS + 1] = { "lameduck-init" };
	char *variables[MOST_WORDS];
	int argc = 1, variable_count = 0;
	for (char *word = text; word < text + size && argc < MOST_WORDS; word += strlen(word) + 1) {
		char *equals = strchr(word, '=');
		if (strncmp(word, "LAMEDUCK_", 9) == 0 && equals && variable_count < MOST_WORDS) {
			*equals = '\0';
			setenv(word, equals + 1, 1);
			variables[variable_count++] = word;
			*equals = '=';
		} else {
			argv[argc++] = word;
		}
	}
	static struct settings settings;
	struct error error = { 0 };
	if (settings_read(&settings, argc, argv, &error))
		check(&settings);
	else if (error.code == ERROR_NONE)
		abort();
	while (variable_count > 0) {
		char *name = variables[--variable_count];
		*strchr(name, '=') = '\0';
		unsetenv(name);
	}
	free(text);
	return 0;
}
