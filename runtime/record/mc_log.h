/* mc_log.h - the logs of the recorder and what is known of a buffer, as mc_record.c, mc_tape.c and
 * mc_leaf.c see them. */
#ifndef MC_LOG_H
#define MC_LOG_H

#include "record/mc_record.h"

#define MCI_DEEPEST 12 /* recordings within one another */

/* An argument of the recorded function; before: its contents before the first write, once it was
 * written. */
typedef struct mci_argument {
    mc_storage *s, *before;
} mci_argument;

typedef struct mci_log {
    mc_record_entry *entries;
    int64_t n, room;
    mci_argument *arguments;
    int narguments, arguments_room;
    int64_t since; /* buffers up to this number were there when the recording began */
    int fixed;     /* those must not be written, arguments apart */
    int outside;   /* writes to such buffers */
    int crossed;   /* memory of an argument was written through another buffer */
    int32_t id;    /* a buffer is traced here when its storage carries this number at this level */
    int strict, keep, capture, tape, shapes;
    int64_t sweep; /* tape: number of entries from which on dead ones are looked for */
    int held;      /* tape: entries are being read */
    int before;    /* mci_recording when it began */
} mci_log;

/* A recording within a recording: an op belongs to the innermost one that traces an operand, so
 * that what an inner function reads from the arguments of an outer one is still the outer one's
 * business. The tape is the first. */
extern mci_log mci_logs[MCI_DEEPEST];
extern int mci_log_depth;

/* What is known of a buffer; kept with its storage. */
typedef struct mci_note {
    int32_t traced[MCI_DEEPEST]; /* the number of the recording at a level whose arguments its
                                  * contents depend on; minus that: read as a constant */
    int32_t leaf;                /* the tape: a leaf */
    int32_t logged;              /* references held by the log of the tape */
    int32_t wanted;              /* the last search that wanted it */
    int32_t gone;                /* what made it was dropped by a backward() */
    int32_t inner;               /* made in a recording of what an enclosing one traces: when the
                                  * inner one has ended, nothing says what the contents depend on */
} mci_note;

static inline const mci_note *mci_known(const mc_storage *s)
{
    static const mci_note nothing;
    return s && s->note ? s->note : &nothing;
}

/* Of a buffer that has one: what a log holds. */
static inline mci_note *mci_note_of(mc_storage *s) { return s->note; }
/* The same, to be written; NULL with the record set when there is no memory. */
static inline mci_note *mci_noted(mc_storage *s)
{
    if (!s->note) s->note = mci_calloc(1, sizeof(mci_note));
    return s->note;
}
/* Innermost recording that traces t, -1: none. */
int mci_level_of(const mc_tensor *t);
/* Whether some tensor was made in an inner recording; marks those made of it. */
int mci_some_inner(int n, const mc_tensor *const *t);
int mci_mark_inner(int nout, mc_tensor **out);
/* mc_shapes.c: whether some operand or result is hollow; the results of an op, hollow. */
int mci_some_hollow(int nout, mc_tensor *const *out, int nin, const mc_tensor *const *in);
int mci_run_by_shapes(const mci_family *family, const mci_op *op, int nout, mc_tensor **out,
                      int nin, const mc_tensor *const *in, const mc_params *p);
void mci_operands_free(mc_record_operand *o, int n);

#endif
