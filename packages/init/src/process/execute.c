#include "execute.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What execvp has found: the first of that name in PATH that may be executed. */
static const char *find(const char *name, char *buffer, size_t size)
{
	if (strchr(name, '/'))
		return name;
	const char *at = getenv("PATH");
	while (at) {
		int length = (int)strcspn(at, ":");
		/* An empty entry is the working directory. */
		snprintf(buffer, size, "%.*s/%s", length ? length : 1, length ? at : ".", name);
		if (access(buffer, X_OK) == 0)
			return buffer;
		at = at[length] ? at + length + 1 : NULL;
	}
	return NULL;
}

static void run_as_script(const char *path, char *const argv[])
{
	size_t count = 0;
	while (argv[count])
		count++;
	char *with_shell[count + 2];
	with_shell[0] = "/bin/sh";
	with_shell[1] = (char *)path;
	memcpy(with_shell + 2, argv + 1, count * sizeof *argv);
	execv(with_shell[0], with_shell);
}

void execute(char *const argv[])
{
	char buffer[PATH_MAX];
	execvp(argv[0], argv);
	if (errno != ENOEXEC)
		return;
	const char *path = find(argv[0], buffer, sizeof buffer);
	if (path)
		run_as_script(path, argv);
	errno = ENOEXEC;
}
