/* power.c - pow() of the program: x ^ 2 is x x, as LuaJIT's compiled code has it.
 *
 * The interpreter calls pow(), whose square of some numbers is the neighbour of the rounded
 * product; compiled code multiplies. When a loop is compiled differs from run to run, so a result
 * would. Of all constant powers the square is the only one that the two take in different ways. */
#include <dlfcn.h>

__attribute__((visibility("default"))) double pow(double x, double y);

static double (*library)(double, double);

double pow(double x, double y)
{
    if (y == 2) return x * x;
    if (!library) *(void **)&library = dlsym(RTLD_NEXT, "pow"); /* every thread finds the same */
    return library(x, y);
}
