#include "trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The beginning of every recording. A file that begins otherwise is not ours. */
static const char beginning[] = "{\"lameduck\":\"trace\"";

static bool fail(char *problem, size_t size, const char *path, const char *what)
{
	snprintf(problem, size, "%s: %s", path, what);
	return false;
}

static bool is_recording(int fd)
{
	char read_back[sizeof beginning - 1];
	ssize_t got = read(fd, read_back, sizeof read_back);
	return got >= 0 && memcmp(read_back, beginning, (size_t)got) == 0;
}

/* True where nothing is there, or a recording. */
static bool may_go(const char *path, bool *there, char *problem, size_t size)
{
	struct stat status;
	*there = lstat(path, &status) == 0;
	if (!*there)
		return errno == ENOENT || fail(problem, size, path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return fail(problem, size, path, "is no regular file and is left as it is");
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return fail(problem, size, path, strerror(errno));
	bool ours = is_recording(fd);
	close(fd);
	return ours || fail(problem, size, path, "holds something else and is left as it is");
}

static bool make_room(const char *path, char *problem, size_t size)
{
	char older[MOST_PATH + 2];
	bool there, older_there;
	if (!may_go(path, &there, problem, size))
		return false;
	if (!there)
		return true;
	snprintf(older, sizeof older, "%s.1", path);
	return may_go(older, &older_there, problem, size) &&
	       (rename(path, older) == 0 || fail(problem, size, path, strerror(errno)));
}

static void path_in(const char *place, char path[MOST_PATH])
{
	struct stat status;
	char host[HOST_NAME_MAX + 1] = "";
	if (stat(place, &status) != 0 || !S_ISDIR(status.st_mode)) {
		snprintf(path, MOST_PATH, "%s", place);
		return;
	}
	gethostname(host, sizeof host - 1);
	snprintf(path, MOST_PATH, "%s/lameduck-%s-%d.jsonl", place, host, (int)getpid());
}

int trace_file_make(const char *place, char *problem, size_t size)
{
	char path[MOST_PATH];
	path_in(place, path);
	if (!make_room(path, problem, size))
		return -1;
	/* Addresses of clients are private. */
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0)
		fail(problem, size, path, strerror(errno));
	return fd;
}
