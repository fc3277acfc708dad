#ifndef LAMEDUCK_EXECUTE_H
#define LAMEDUCK_EXECUTE_H

/*
 * Becomes the program, found in PATH where its name has no slash. A file without "#!" that is no binary is a script of /bin/sh, as
 * in execvp of most C libraries; musl's leaves that out. Returns only where nothing can be run, and errno says why.
 */
void execute(char *const argv[]);

#endif
