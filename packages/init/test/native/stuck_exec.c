/* stuck_exec FILE: says "ready"; from then on, while it lives, whoever executes FILE waits for an answer that never comes. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <unistd.h>

int main(int argc, char *argv[])
{
	int fd = fanotify_init(FAN_CLASS_CONTENT, O_RDONLY);
	if (argc < 2 || fd < 0 || fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN_EXEC_PERM, AT_FDCWD, argv[1]) != 0) {
		puts("cannot");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
