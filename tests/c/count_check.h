/* count_check.h - what C tests share: counting checks, the last line, whether this machine has the
 * level under test.
 *
 * check(ok, format, ...) counts and prints the first failures; report() prints "N passed, M
 * failed" and gives the exit status. */
#ifndef COUNT_CHECK_H
#define COUNT_CHECK_H

#include "../../runtime/base/mc_def.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_FAILURES = 40 };
static int passed, failed;

MC_PRINTF(2, 3) MC_UNUSED static void check(int ok, const char *fmt, ...)
{
    if (ok) {
        passed++;
        return;
    }
    if (++failed > SHOWN_FAILURES)
        return;
    va_list args;
    va_start(args, fmt);
    printf("FAIL ");
    vprintf(fmt, args);
    printf("\n");
    va_end(args);
}

MC_UNUSED static int report(void)
{
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

#if defined(MC_ISA)
#define LEVEL_TEXT_(x) #x
#define LEVEL_TEXT(x) LEVEL_TEXT_(x)
/* Whether this machine has the level under test; says so when it has not. */
MC_UNUSED static int level_runs(void)
{
    const char *level = LEVEL_TEXT(MC_ISA);
    int has = !strcmp(level, "v4")
                  ? __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl")
                  : strcmp(level, "v3") != 0 ||
                        (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
    if (!has)
        printf("0 passed, 0 failed: this machine lacks level %s\n", level);
    return has;
}
#endif

#endif
