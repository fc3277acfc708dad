#ifndef LAMEDUCK_CLOCK_H
#define LAMEDUCK_CLOCK_H

/* Milliseconds of a clock that never jumps. */
double clock_now(void);

#endif
