#ifndef LAMEDUCK_LOGARITHM_H
#define LAMEDUCK_LOGARITHM_H

/* The natural logarithm, without the 4 KiB of tables that musl's log() brings into a static binary. */
double logarithm(double x);

#endif
