#include "container.h"

#include "../base/files.h"
#include "../base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIELD_PARENT = 4, FIELD_STARTED = 22 };

static ssize_t read_of(pid_t pid, const char *name, char *buffer, size_t size)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	return read_file(path, buffer, size);
}

/* A numeric field of /proc/PID/stat. The fields are counted from behind the second, the name, which may contain anything. */
static bool read_stat(pid_t pid, int field, uint64_t *value)
{
	char text[1024];
	if (read_of(pid, "stat", text, sizeof text) <= 0)
		return false;
	const char *at = strrchr(text, ')');
	for (int i = 2; at && i < field; i++)
		at = strchr(at + 1, ' ');
	return at && read_decimal(at + 1, value);
}

struct main_process process_of(pid_t pid)
{
	struct main_process process = { .pid = pid };
	if (!read_stat(pid, FIELD_STARTED, &process.started))
		process.started = 0;
	return process;
}

bool is_alive(const struct main_process *process)
{
	uint64_t started;
	return read_stat(process->pid, FIELD_STARTED, &started) && started == process->started;
}

bool is_above_us(pid_t pid)
{
	uint64_t at = (uint64_t)getpid();
	while (at > 0 && at != (uint64_t)pid)
		if (!read_stat((pid_t)at, FIELD_PARENT, &at))
			return false;
	return at > 0;
}

static bool in_cgroup(pid_t pid, const char *cgroup)
{
	char text[4096];
	/* A process that cannot be read counts as one of this container. Then the answer is PID 1, which is nearly always right. */
	return read_of(pid, "cgroup", text, sizeof text) <= 0 || strcmp(text, cgroup) == 0;
}

static bool comes_from_outside(pid_t pid)
{
	uint64_t parent;
	return read_stat(pid, FIELD_PARENT, &parent) && parent == 0;
}

struct main_process find_main_process(void)
{
	char cgroup[4096];
	struct main_process oldest = process_of(1);
	if (read_of(getpid(), "cgroup", cgroup, sizeof cgroup) <= 0 || in_cgroup(1, cgroup))
		return oldest;
	DIR *directory = opendir("/proc");
	bool found = false;
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		pid_t pid = (pid_t)atoi(entry->d_name);
		if (pid <= 1 || pid == getpid() || !comes_from_outside(pid) || !in_cgroup(pid, cgroup))
			continue;
		struct main_process process = process_of(pid);
		if (!found || process.started < oldest.started)
			oldest = process;
		found = true;
	}
	if (directory)
		closedir(directory);
	return oldest;
}

static signal_mask mask_in(const char *status, const char *name)
{
	const char *at = strstr(status, name);
	return at ? strtoull(at + strlen(name), NULL, 16) : 0;
}

bool drops_signal(pid_t pid, int signal)
{
	char status[4096];
	if (pid != 1 || read_of(pid, "status", status, sizeof status) <= 0)
		return false;
	/* A blocked signal waits for sigwait or a signalfd. */
	return !((mask_in(status, "SigCgt:") | mask_in(status, "SigBlk:")) & mask_of(signal));
}

int open_log_of(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/fd/2", (int)pid);
	int fd = open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat theirs, ours;
	bool same = fd >= 0 && fstat(fd, &theirs) == 0 && fstat(STDERR_FILENO, &ours) == 0 &&
		    theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
	if (!same)
		return fd;
	close(fd);
	return -1;
}
