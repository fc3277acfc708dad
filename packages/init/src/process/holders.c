#include "holders.h"

#include "../base/clock.h"
#include "../base/files.h"
#include "../base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char folder[] = "/dev/shm";
/* The kubelet signals when its hook has ended: at once, or a little later on a busy node. */
static const double just_ms = 5000;

static const int answer_time_ms = 100;

enum { LONGEST_PATH = 96 };

/* Containers of a pod share the folder, and each has a mount namespace of its own, in which its hooks run, too. */
static unsigned long long container_key(void)
{
	struct stat status;
	return stat("/proc/self/ns/mnt", &status) == 0 ? (unsigned long long)status.st_ino : 0;
}

static const char *path_of(const char *kind, pid_t pid, char path[LONGEST_PATH])
{
	snprintf(path, LONGEST_PATH, "%s/lameduck-%s-%llu-%d", folder, kind, container_key(), (int)pid);
	return path;
}

/* A reader finds the old text or the new one. A link at that path is replaced, not followed. */
void holder_write(const struct holder *holder)
{
	char path[LONGEST_PATH], beside[LONGEST_PATH];
	path_of("new", holder->pid, beside);
	unlink(beside);
	int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return;
	int written = dprintf(fd, "1 %s %d %llu %llu %.0f %.0f %.0f\n", holder->program, (int)holder->with.pid,
			      (unsigned long long)holder->with.started, (unsigned long long)holder->signals, holder->longest_ms,
			      holder->began, holder->ended);
	close(fd);
	if (written < 0 || rename(beside, path_of("holder", holder->pid, path)) != 0)
		unlink(beside);
}

void holder_remove(const struct holder *holder)
{
	char path[LONGEST_PATH];
	unlink(path_of("holder", holder->pid, path));
}

/*
 * All containers of a pod may write to this directory. So a file counts only if it belongs to root, to us or to the user of the process that it
 * names.
 */
static bool is_trusted(const char *path, pid_t pid)
{
	char process[32];
	struct stat file, owner;
	snprintf(process, sizeof process, "/proc/%d", (int)pid);
	if (lstat(path, &file) != 0 || !S_ISREG(file.st_mode))
		return false;
	return file.st_uid == 0 || file.st_uid == geteuid() || (stat(process, &owner) == 0 && file.st_uid == owner.st_uid);
}

/* "1 library 7 4711 16384 25000 0 0". */
static bool read_holder(const char *path, struct holder *holder)
{
	enum { WITH, STARTED, SIGNALS, LONGEST, BEGAN, ENDED, NUMBERS };
	char text[160];
	uint64_t numbers[NUMBERS];
	if (read_file(path, text, sizeof text) <= 0 || strncmp(text, "1 ", 2) != 0)
		return false;
	size_t length = strcspn(text + 2, " ");
	if (length >= sizeof holder->program)
		return false;
	memcpy(holder->program, text + 2, length);
	holder->program[length] = '\0';
	const char *at = text + 2 + length;
	for (int i = 0; i < NUMBERS; i++) {
		at = expect(at, ' ');
		if (!at || !(at = read_decimal(at, &numbers[i])))
			return false;
	}
	holder->with = (struct main_process){ .pid = (pid_t)numbers[WITH], .started = numbers[STARTED] };
	holder->signals = numbers[SIGNALS];
	holder->longest_ms = (double)numbers[LONGEST];
	holder->began = (double)numbers[BEGAN];
	holder->ended = (double)numbers[ENDED];
	return is_alive(&holder->with) && is_trusted(path, holder->with.pid);
}

size_t holders_read(struct holder holders[MOST_HOLDERS])
{
	char prefix[64], path[LONGEST_PATH];
	size_t count = 0;
	size_t length = (size_t)snprintf(prefix, sizeof prefix, "lameduck-holder-%llu-", container_key());
	DIR *directory = opendir(folder);
	for (struct dirent *entry; directory && count < MOST_HOLDERS && (entry = readdir(directory));) {
		if (strncmp(entry->d_name, prefix, length) != 0)
			continue;
		holders[count].pid = (pid_t)atoi(entry->d_name + length);
		if (holders[count].pid > 0 && read_holder(path_of("holder", holders[count].pid, path), &holders[count]))
			count++;
	}
	if (directory)
		closedir(directory);
	return count;
}

bool holds_itself(pid_t pid, int signal, double least_ms, double most_ms)
{
	struct holder holders[MOST_HOLDERS];
	size_t count = holders_read(holders);
	bool holds = false;
	for (size_t i = 0; i < count; i++) {
		const struct holder *holder = &holders[i];
		if (holder->pid != pid)
			continue;
		/* The library was asked in another way, such as by an httpGet hook, and holds already. */
		if (holder->began > 0)
			return true;
		if (signal == 0 || !(holder->signals & mask_of(signal)) || holder->longest_ms < least_ms || holder->longest_ms > most_ms)
			return false;
		holds = true;
	}
	return holds;
}

bool held_before(struct holder *found, double grace, double now)
{
	struct holder holders[MOST_HOLDERS];
	size_t count = holders_read(holders);
	bool any = false;
	for (size_t i = 0; i < count; i++) {
		const struct holder *holder = &holders[i];
		bool before_us = holder->pid != getpid() && strcmp(holder->program, "library") != 0 && is_above_us(holder->with.pid);
		bool counts = before_us && holder->began > 0 && holder->began <= now && now - holder->began < grace;
		if (!counts || (any && found->began >= holder->began))
			continue;
		*found = *holder;
		any = true;
	}
	return any;
}

double hook_began(const struct holder *hook, double now)
{
	struct holder holders[MOST_HOLDERS];
	size_t count = holders_read(holders);
	double began = now;
	for (size_t i = 0; i < count; i++) {
		const struct holder *other = &holders[i];
		bool same = other->pid != hook->pid && strcmp(other->program, hook->program) == 0 &&
			    other->with.pid == hook->with.pid && other->longest_ms == hook->longest_ms;
		if (same && other->ended == 0 && other->began < began && now - other->began < other->longest_ms)
			began = other->began;
	}
	return began;
}

bool has_just_held(const struct holder *holder, double now)
{
	return holder->ended > 0 && now - holder->ended < just_ms;
}

bool holder_ask_to_end(const struct holder *holder)
{
	char path[LONGEST_PATH];
	unlink(path_of("end", holder->pid, path));
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return false;
	/* The hold that the request is for: a file that is left over must not end another hold. */
	int written = dprintf(fd, "%.0f\n", holder->began);
	close(fd);
	return written > 0;
}

bool holder_is_asked(struct holder *holder)
{
	char path[LONGEST_PATH], text[32];
	uint64_t began;
	path_of("end", holder->pid, path);
	if (access(path, F_OK) != 0 || !is_trusted(path, holder->with.pid) || read_file(path, text, sizeof text) <= 0 ||
	    !read_decimal(text, &began) || began != (uint64_t)(holder->began + 0.5))
		return false;
	unlink(path);
	holder->ended = clock_now();
	holder_write(holder);
	poll(NULL, 0, answer_time_ms);
	return true;
}
