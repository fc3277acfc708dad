#include "earlier_run.h"

#include "../base/read_file.h"
#include "../base/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_new(const char *path, double now)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return false;
	dprintf(fd, "%.0f\n", now);
	close(fd);
	return true;
}

/* All containers of a pod may write in /dev/shm: what others have put there is not believed. */
static double read_own(const char *path)
{
	char text[64];
	struct stat status;
	uint64_t began;
	bool own = lstat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
	return own && read_file(path, text, sizeof text) > 0 && read_decimal(text, &began) ? (double)began : -1;
}

double run_begins(struct run_record *record, struct main_process container, double cap, double now)
{
	snprintf(record->path, sizeof record->path, "/dev/shm/lameduck-wait-%d-%llu-%.0f-%u", (int)container.pid,
		 (unsigned long long)container.started, cap, (unsigned)geteuid());
	if (write_new(record->path, now))
		return now;
	double began = read_own(record->path);
	bool counts = began >= 0 && began <= now && now - began < cap;
	if (!counts && unlink(record->path) == 0 && write_new(record->path, now))
		return now;
	record->path[0] = '\0';
	return counts ? began : now;
}

void run_ends(const struct run_record *record)
{
	if (record->path[0])
		unlink(record->path);
}
