/* mc_error.h - the thread-local error record.
 *
 * The one thread-local of the library: status and text of the last failing call. A failing
 * function writes the record once, at the place that knows most, and returns the status; callers
 * above hand it on untouched. Releases never touch it. */
#ifndef MC_ERROR_H
#define MC_ERROR_H

#include "mc_lua.h"
#include "base/mc_def.h"
#include <stddef.h>
#include <stdint.h>

/* Writes the record and returns `status`, so that `return mci_error(...)` reads well.
 * Text: `op: what is wrong, each operand as dtype[shape]@device; what to do`. */
int mci_error(int status, const char *fmt, ...) MC_PRINTF(2, 3);

/* What a kernel refused at a flat position (from 1): `op: why at flat position n (from 1); advice`.
 * why may have advice of its own behind a semicolon. Returns MC_EINVAL. */
int mci_error_at(const char *op, const char *why, int64_t position);

/* The record of an errno: `what: path: strerror; advice`. Returns MC_EIO, or MC_ENOMEM for
 * ENOMEM. */
int mci_error_io(const char *what, const char *path, int err, const char *advice);

/* Puts `prefix: ` before the text of the current record (adds the op's name on the way up). */
void mci_error_prefix(const char *prefix);

#endif
