#include "logarithm.h"

#include <math.h>

double logarithm(double x)
{
	int exponent;
	double mantissa = frexp(x, &exponent);
	/* Around 1, so that the two terms never cancel. */
	if (mantissa < M_SQRT1_2) {
		mantissa *= 2;
		exponent--;
	}
	return exponent * M_LN2 + log1p(mantissa - 1);
}
