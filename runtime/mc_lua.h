/* mc_lua.h - what our Lua side uses besides mascon.h: recording, plans, native code, files of
 * results, readers of recordings.
 *
 * The FFI declarations are this header, preprocessed: hence opaque handles, pointers, scalars and
 * enums only. No program that embeds needs it.
 *
 * Headers in Lua. A header is made in three ways:
 *   inline   the payload follows the header in memory that somebody else owns (the Lua heap).
 *            No finalizer. Used up to MC_INLINE_BYTES. A view that must keep it promotes it.
 *   stored   `storage` is a refcounted block shared by views; mc_drop() gives the reference back.
 *   view     a stored tensor whose shape, strides or first element differ.
 * Why (16-element f64 add, one core of a Zen 3, ns, traced/interpreted, 10 live handles; then 1e5
 * live handles):
 *   inline, no finalizer     89 / 396    100 / 343        <- small tensors
 *   slab + explicit release  12 / 242     12 / 224        <- scopes and x:release()
 *   header + ffi.gc         328 / 614    568 / 914        <- large tensors, arithmetic hides it
 *   slab + ffi.gc           325 / 619    686 / 495
 * (bench/handle.lua repeats the measurement.) */
#ifndef MC_LUA_H
#define MC_LUA_H

#include "mascon.h"
#include "formats/mc_formats.h"
#if !defined(MC_CDEF) && defined(__cplusplus)
extern "C" {
#endif

/* ---- memory ---- */
/* Non-zero when live bytes have grown by a step since the last collection; the caller collects and
 * then tells how many bytes its own heap holds, which is what a collection costs. */
MC_API int *mc_memory_pressure(void);
MC_API void mc_memory_collected(double heap);
MC_API int mc_memory_cache_enable(int on);
/* Tests: lets the n-th allocation from now fail once (0: off). Returns allocations made since the
 * last call. */
MC_API int64_t mc_test_fail_alloc(int64_t n);
/* The k-th largest live storage of a device (k from 0): out[0] bytes, [1] dtype, [2] ndim, [3..10]
 * shape; 0 when there is none. */
MC_API int mc_memory_largest(int device, int k, int64_t out[11]);

/* ---- tensors ---- */
/* The elements of t are not needed for now: where they lie in a mapped array file, their pages
 * leave the process and come back when they are touched. Nothing happens to other tensors. */
MC_API void mc_unload(const mc_tensor *t);
/* How pages of wrapped memory leave the process: unload(owner, from, n) is called for n bytes.
 * t is stored. */
MC_API void mc_unload_by(mc_tensor *t, void (*unload)(const void *owner, const void *from,
                         int64_t n));

/* ---- a scratch file: rows larger than memory, wanted stretch by stretch ---- */
typedef struct mc_scratch mc_scratch;
/* Room on disk for `rows` rows of n elements, kept in runs of `run` of them. The file has no name
 * and goes with the process. folder NULL: that of TMPDIR, else /var/tmp, else /tmp. Owns:
 * mc_scratch_free. NULL with the error record set when the folder cannot be written or has no
 * room. */
MC_API mc_scratch *mc_scratch_new(const char *folder, int dtype, int64_t rows, int64_t n,
                                  int64_t run);
/* Rows x [..., n], contiguous, as rows row, row + 1, ... (from 0). */
MC_API int mc_scratch_put(mc_scratch *s, int64_t row, const mc_tensor *x);
/* Elements first .. first + k of all rows into out [..., k], contiguous; first is a multiple of
 * `run`. */
MC_API int mc_scratch_get(mc_scratch *s, int64_t first, mc_tensor *out);
MC_API void mc_scratch_free(mc_scratch *s);

/* ---- SHA-256 of a file, piece by piece ---- */
typedef struct mc_file_hash mc_file_hash;
/* Opens a file and tells its size: what is hashed is the file that has this name now. NULL with the
 * error record set when it cannot be read. Owns: mc_file_hash_free. */
MC_API mc_file_hash *mc_file_hash_new(const char *path, int64_t *size);
/* Reads at least `bytes` more, or to the end. How many; 0 at the end, -1 with the error record
 * set. */
MC_API int64_t mc_file_hash_step(mc_file_hash *h, int64_t bytes);
/* 64 hex digits and a zero. 1 when the file has been written since it was opened, else 0. */
MC_API int mc_file_hash_finish(mc_file_hash *h, char *hex);
MC_API void mc_file_hash_free(mc_file_hash *h);

/* ---- pictures and terminals ---- */
/* Renders an SVG text at `scale` into a PNG file (through librsvg). MC_EUNSUPPORTED with advice
 * when that is missing. */
MC_API int mc_svg_to_png(const char *svg, int64_t bytes, double scale, const char *path);
/* Columns of the terminal behind descriptor fd, 0 when it is none. */
MC_API int mc_terminal_width(int fd);

/* 1 where the family of `op` has a form for cards, 0 where it runs on host memory alone. */
MC_API int mc_op_launches(int op);
/* How the host computes a convolution or one of its derivatives of such operands, whose elements
 * are not read. out[0]: 0 as it is written, 1 as products of matrices, 2 by Winograd's tiles, 3 by
 * Fourier transforms of tiles; out[1], out[2]: results of a tile; out[3]: bytes that it takes
 * beside operands and result with the threads that there are, 0 for the first two. */
MC_API int mc_conv_way(int op, const mc_params *p, const mc_tensor *a, const mc_tensor *b,
                       int64_t out[4]);
/* How the host computes products of m x k by k x n, in stacks where `outer` is not 0; turned: the
 * second lies column by column. 0 by plain sums, 1 by the library of products, 2 with the second
 * read in place for few rows. */
MC_API int mc_matmul_way(int dtype, int outer, int64_t m, int64_t n, int64_t k, int turned);

/* ---- ops ---- */
/* The same for callers to whom every field access costs (interpreted Lua). _new: out is a fresh
 * header with `bytes` of payload; -1 instead of 0 when the result needed storage, so that it must
 * be given a finalizer; -2, and nothing done, when the result may need more room than the first
 * operand takes. _into: out= without marking it. */
MC_API int mc_op1_new(int op, mc_tensor *out, int32_t bytes, const mc_tensor *a);
MC_API int mc_op1_with_new(int op, mc_tensor *out, int32_t bytes, const mc_tensor *a,
                           const mc_params *p);
MC_API int mc_op2_scalar_new(int op, mc_tensor *out, int32_t bytes, const mc_tensor *a, double s,
                             int swapped);
MC_API int mc_op2_new(int op, mc_tensor *out, int32_t bytes, const mc_tensor *a,
                      const mc_tensor *b);
MC_API int mc_op2_into(int op, mc_tensor *out, const mc_tensor *a, const mc_tensor *b);
/* The elements of t where mask (bool, of its shape) is set, in row-major order, as one axis. -2:
 * not here (another shape or dtype of the mask, or a function is being recorded): nonzero_flat and
 * take do the same in two steps. */
MC_API int mc_masked(mc_tensor *out, const mc_tensor *t, const mc_tensor *mask);
/* A triangle of the last two axes of t (at least two axes): on row i the columns up to i + k stay
 * (lower), or those from i + k on; zeros elsewhere. -2: a function is being recorded, or t is on a
 * device: where does the same. */
MC_API int mc_triangle(mc_tensor *out, const mc_tensor *t, int64_t k, int lower);
/* ---- ops of workflows (mc_workflow.c) ---- */
typedef struct mc_workflow mc_workflow;
/* The native part of a workflow, opened once and kept; NULL with the error set. */
MC_API mc_workflow *mc_workflow_open(const char *path);
/* Name of its k-th row (from 0), NULL behind the last. */
MC_API const char *mc_workflow_row(const mc_workflow *w, int k);
/* Makes row k an op. nin, nout: 255 for a list; promote: 0 numeric, 1 float, 2 bool; compute: for
 * each dtype that of the arithmetic, -1 where the row is not defined. Its number, or -1 with the
 * error set. */
MC_API int mc_workflow_add(mc_workflow *w, int k, int nin, int nout, int promote,
                           const int8_t *compute);
/* ---- recording (mc_record.c): what a function does with its traced operands ---- */
typedef struct mc_record_operand {
    int64_t serial;      /* of its buffer, 0: none */
    int64_t offset, size; /* first element and length of the buffer, in elements of dtype */
    int64_t numel;
    int32_t dtype, ndim, weak, traced;
    int64_t shape[8], strides[8];
    const void *literal; /* elements of an operand without buffer */
    mc_storage *kept;    /* buffer from outside the function */
    int32_t version;     /* of its contents, on the tape */
    int32_t device;
} mc_record_operand;
/* BASE: a buffer before its first write; CALL: something the caller made known by a number (op),
 * whose inside is not logged */
enum { MC_RECORD_OP, MC_RECORD_COPY, MC_RECORD_PUT, MC_RECORD_BASE, MC_RECORD_CALL };
typedef struct mc_record_entry {
    int32_t kind, op, nin, nout, axis, accumulate;
    int32_t turn; /* of mc_record_turn, 0 without */
    int32_t compute; /* dtype of the arithmetic of an elementwise op, -1 else */
    int32_t wanted;  /* found by the last mc_tape_find */
    mc_params params;
    mc_record_operand *operands; /* inputs, then results */
} mc_record_entry;
/* STRICT: asking for the value of a traced tensor is an error; KEEP: results stay alive in the log;
 * CAPTURE: ops on what enclosing recordings trace are logged here too, so that the log holds all
 * that the function does with anything that is not constant; FIXED: buffers from outside that are
 * no arguments must not be written; SHAPES, while recordings around it pause: nothing that depends
 * on its arguments is computed or written, and what is made of them is hollow. */
enum { MC_RECORD_STRICT = 1, MC_RECORD_KEEP = 2, MC_RECORD_CAPTURE = 4, MC_RECORD_FIXED = 8,
       MC_RECORD_SHAPES = 16 };
/* Recordings nest; strictness is inherited. The log lives until cleared. */
MC_API int mc_record_begin(int flags);
MC_API int mc_record_depth(void);
/* Whether a recording is in force. */
MC_API int mc_record_active(void);
/* A tensor over the same memory with a buffer number of its own, so that an argument is told from
 * what else shows its memory. Shares. */
MC_API int mc_record_alias(mc_tensor *out, const mc_tensor *t);
/* The same without memory: dtype, shape, and where it would lie. */
MC_API int mc_record_hollow(mc_tensor *out, const mc_tensor *t);
/* Whether elements of a tensor without memory were asked for, or writes that are not seen by the
 * log, since it was asked last: a recording by shapes is of no use then. */
MC_API int mc_record_asked(void);
/* Whether t is of a recording by shapes and has no memory; the error of reading such a tensor. */
MC_API int mc_hollow(const mc_tensor *t);
MC_API int mc_refuse_hollow(const mc_tensor *t);
/* The error of operands that lie on different devices, wherever they meet. */
MC_API int mc_mixed_devices(const char *op, const mc_tensor *a, const mc_tensor *b);
MC_API void mc_record_end(void);
/* Stops (1) or resumes (0) all recordings; returns what was in force. */
MC_API int mc_record_pause(int on);
/* Flags of the innermost recording, those inherited included; 0 when there is none. */
MC_API int mc_record_flags(void);
/* Logs a CALL with the recording that its operands belong to; results become traced. *level: of
 * that recording, counted from 0. */
MC_API int mc_record_call(int number, int nout, mc_tensor *const *out, int nin,
                          const mc_tensor *const *in, int32_t *level);
MC_API void mc_record_clear(void);
MC_API int64_t mc_record_count(void);
MC_API const mc_record_entry *mc_record_at(int64_t k); /* borrowed until cleared */
/* Marks the buffer of t as an argument of the recorded function (on = 1) or takes the mark off.
 * Arguments are counted from 0 in that order. */
MC_API int mc_record_trace(mc_tensor *t, int on);
/* Until the log is cleared: whether argument k was written; t, which is that argument, as it was
 * before (shares); all of them set back to that. */
MC_API int mc_record_written(int k);
MC_API int mc_record_before(mc_tensor *out, const mc_tensor *t, int k);
MC_API int mc_record_restore(void);
/* Whether the memory of an argument was written through another buffer; how often buffers from
 * outside that are no arguments were written. */
MC_API int mc_record_crossed(void);
MC_API int mc_record_outside(void);
/* Whether two tensors show a common byte. */
MC_API int mc_record_overlap(const mc_tensor *a, const mc_tensor *b);
/* Entries carry this number from now on: work that a checkpoint does anew, one turn apart from the
 * other. Returns the number before. */
MC_API int mc_record_turn(int turn);
MC_API int mc_record_traced(const mc_tensor *t);
/* 0: the value of t belongs to the arguments of a function that is compiled or batched, and may not
 * be asked for. */
MC_API int mc_record_readable(const mc_tensor *t);
MC_API int64_t mc_record_serial(const mc_tensor *t);
/* How often the buffer of t was written while something was being recorded; 0 when it has none. */
MC_API int mc_record_version(const mc_tensor *t);
/* Whether t shows all of its buffer, in row-major order. */
MC_API int mc_record_whole(const mc_tensor *t);
/* of its first element in its buffer, in elements */
MC_API int64_t mc_record_offset(const mc_tensor *t);
/* ---- the tape: an outermost recording that stays, for backward() ---- Its log holds what depends
 * on leaves; entries whose results nobody holds any more are dropped when it grows. */
MC_API int mc_tape_begin(void);
/* Drops the log and ends the recording; nothing happens while another recording is inside it. */
MC_API void mc_tape_end(void);
/* Whether the tape is the only recording. */
MC_API int mc_tape_alone(void);
/* Makes t a leaf (on = 1) with a buffer number of its own, or takes the mark off. Written in place
 * while the tape is on, a leaf is an error. */
MC_API int mc_tape_leaf(mc_tensor *t, int on);
/* A tensor over the same memory that the tape does not know. Shares. */
MC_API int mc_tape_detach(mc_tensor *out, const mc_tensor *t);
/* Marks the entries that the tensors depend on; returns how many entries there are. They stay until
 * mc_tape_drop. */
MC_API int64_t mc_tape_find(int n, mc_tensor *const *t);
/* Drops the entries FOUND, those whose results nobody needs (DEAD), or NONE. */
enum { MC_TAPE_FOUND, MC_TAPE_DEAD, MC_TAPE_NONE };
MC_API void mc_tape_drop(int which);
/* All of the buffer of t, in the shape that it was made for. Shares. */
MC_API int mc_tape_buffer(mc_tensor *out, const mc_tensor *t);
/* Version of the contents of a kept operand now. */
MC_API int mc_tape_version(const mc_record_operand *o);
/* Whether the entries that made a kept operand were dropped after a backward(). */
MC_API int mc_tape_gone(const mc_record_operand *o);
/* ---- plans (mc_plan.c): a flat list of steps over buffers that are laid out beforehand ---- */
typedef struct mc_plan mc_plan;
enum { MC_PLAN_INPUT, MC_PLAN_OUTPUT, MC_PLAN_ARENA, MC_PLAN_CONST, MC_PLAN_TILE };
/* Owns: mc_plan_free. NULL with the error record set on failure. */
MC_API mc_plan *mc_plan_new(void);
MC_API void mc_plan_free(mc_plan *p);
/* A header the steps refer to by its number (the result; negative on failure). like: dtype, shape
 * and strides; where, index: whose memory (INPUT and OUTPUT: argument `index`; ARENA: byte `index`;
 * CONST: `like` itself, whose storage the plan shares); offset: first element. */
MC_API int mc_plan_header(mc_plan *p, const mc_tensor *like, int where, int64_t index,
                          int64_t offset);
/* Steps, run in the order in which they were added. Headers of results are written. */
MC_API int mc_plan_op(mc_plan *p, int op, int nout, const int32_t *out, int nin,
                      const int32_t *in, const mc_params *params);
/* One instruction of a fused group: register dst = op(registers src) computed in `dtype`, result of
 * dtype `rdtype`; op -1: conversion. */
typedef struct mc_vm_instr {
    int32_t op, dtype, rdtype, dst, nsrc, src[3];
} mc_vm_instr;
/* Elementwise ops over blocks. leaves (headers) are registers 0, 1, ... read as dtypes `want`;
 * result[k]: register of header out[k]. */
MC_API int mc_plan_fused(mc_plan *p, int nleaves, const int32_t *leaves, const int32_t *want,
                         int nout, const int32_t *out, const int32_t *result,
                         int ninstr, const mc_vm_instr *instr);
/* The group that was added last as a program of devices (kernels/device/fused.h), copied: its text,
 * the ops that refuse operands in the order in which the text counts them. */
MC_API int mc_plan_program(mc_plan *p, const char *text, int nguards, const int32_t *guards,
                           const int32_t *want);
/* A reduction (`op`) into header `out` of what a program makes: header `like` shows its shape and
 * has no memory. */
MC_API int mc_plan_reduced(mc_plan *p, int op, const mc_params *params, int out, int like,
                           int nleaves, const int32_t *leaves, const int32_t *want,
                           int32_t result, int ninstr, const mc_vm_instr *instr);
/* product = a b, and a program (of which product is a leaf) over each tile of it while it is in
 * cache. */
MC_API int mc_plan_product(mc_plan *p, int product, int a, int b, int nleaves,
                           const int32_t *leaves, const int32_t *want, int nout,
                           const int32_t *out, const int32_t *result, int ninstr,
                           const mc_vm_instr *instr);
/* The next `count` steps run together over tiles of k leading axes. row_bytes[nslots]: bytes of one
 * row of each buffer that lives in a tile; extra: bytes of a row read and written outside.
 * mc_plan_views after them: of every header of these steps (results, then operands, step by step)
 * its axis number less that of the leading axes, and its buffer or -1. */
MC_API int mc_plan_tiles(mc_plan *p, int count, int k, const int64_t *lead, int nslots,
                         const int64_t *row_bytes, int64_t extra);
MC_API int mc_plan_views(mc_plan *p, int n, const int32_t *shift, const int32_t *slot);
MC_API int mc_plan_copy(mc_plan *p, int dst, int src);
MC_API int mc_plan_put(mc_plan *p, int dst, int axis, int index, int values, int accumulate);
/* Parts of a plan that are plans: ONCE runs part 0 on all operands; CHOOSE runs part in[0] (i64
 * from 0, held to the range) on in[1..]; WHILE runs part 1 as long as part 0 gives true; SCAN runs
 * part 0 once per row. Operands: `fixed` ones that every turn sees, `state`, `rows` (SCAN: taken
 * apart along the first axis); results: state, `made` rows, then room: `state` tensors once more,
 * and for WHILE a bool. Parts are borrowed. */
enum { MC_LOOP_ONCE, MC_LOOP_CHOOSE, MC_LOOP_WHILE, MC_LOOP_SCAN };
typedef struct mc_loop_spec {
    int32_t kind, nparts, fixed, state, rows, made, reverse;
    int64_t length;
} mc_loop_spec;
MC_API int mc_plan_loop(mc_plan *p, const mc_loop_spec *spec, mc_plan *const *parts, int nout,
                        const int32_t *out, int nin, const int32_t *in);
/* Launches that may still be queued or run on an open device. */
MC_API int64_t mc_device_queued(int device);
/* Whether a device runs the CPU's kernels, those of workflows included. */
MC_API int mc_device_hosted(int device);
/* What happens inside calls: a step of a plan, a launch (waited for), a transfer. Seconds are of
 * mc_clock. _watch begins or ends it; _watched takes what happened since the last time, oldest
 * first, and returns how many. */
enum { MC_EVENT_STEP, MC_EVENT_LAUNCH, MC_EVENT_TO, MC_EVENT_FROM };
typedef struct mc_event {
    char name[64], what[64];
    double begin, end;
    int64_t bytes;
    int32_t kind, device;
} mc_event;
MC_API int mc_watch(int on);
MC_API int mc_watched(mc_event *out, int room);
/* Programs of devices so far: [0] compiled, [1] found on disk, [2] seconds of compilers. */
MC_API void mc_device_programs(double out[3]);
/* One launch of the kernel mcu_KERNEL of a program (its whole text but the dialect) on an open
 * device: grid[3] groups of `lanes`, n contiguous tensors, then `bytes` of values: a struct whose
 * members of 8 bytes stand first. places: of the kernel KERNEL of CUDA C++ (a source that begins
 * with the line //verbatim), whose `count` values begin there and are arguments of their own; else
 * NULL. */
MC_API int mc_device_launch(int device, const char *source, const char *kernel, const int64_t *grid,
                            int lanes, int n, mc_tensor *const *t, const void *values,
                            int64_t bytes, int count, const int32_t *places);
/* Whether programs can be compiled for an open device; else those that were kept, and those of a
 * kind that come with mascon (how many), are all there are. */
MC_API int mc_device_compiles(int device);
MC_API int mc_device_shipped(const char *kind);
/* The key of the code of a whole text among those. */
MC_API void mc_device_shipped_key(const char *text, char key[65]);
/* What the interface of an open device says of itself: versions, abilities, the library it
 * multiplies with; empty where it says nothing. */
MC_API int mc_device_words(int number, char *text, int64_t room);
/* Programs of devices, for tests: source i of those that `device` has built (how many there are is
 * returned); formula i of the op table or conversion behind them (NULL at the end, borrowed); the
 * whole text that a kind of device ("opencl", "cuda") is given for a source, its length
 * returned. */
MC_API int mc_device_program(int device, int i, char *source, int64_t room);
MC_API const char *mc_device_formula(int i);
MC_API int64_t mc_device_source(const char *kind, const char *source, char *text, int64_t room);
/* The device of a plan (a number of mc_device_find; before it is run): its steps, ops and copies,
 * are bound to it once. */
MC_API int mc_plan_device(mc_plan *p, int device);
/* The device of a plan, and how many arguments and results mc_plan_call takes. */
MC_API int mc_plan_where(const mc_plan *p, int *nin, int *nout);
/* Bytes of scratch memory that arena headers point into; taken at run, given back after it. */
MC_API int mc_plan_arena(mc_plan *p, int64_t bytes);
/* Where results of mc_plan_call lie in the arena, which stays as long as one of them; -1 for those
 * that have memory of their own. On the CPU. */
MC_API int mc_plan_lend(mc_plan *p, int n, const int64_t *at);
/* Runs it. in, out: the arguments in order; outputs have shape, dtype and memory. */
MC_API int mc_plan_run(mc_plan *p, mc_tensor *const *in, int nin, mc_tensor *const *out, int nout);

/* The arguments it was made for and the results it gives, as headers; mc_plan_call checks and makes
 * them. */
MC_API int mc_plan_form(mc_plan *p, int nin, mc_tensor *const *in, int nout, mc_tensor *const *out);
/* The arguments (from 0) that the plan writes to: arguments that share memory with one of them are
 * of another form. */
MC_API int mc_plan_writes(mc_plan *p, int n, const int32_t *which);
/* Makes the results (empty headers with their capacity) and runs it; -1, and nothing done, when an
 * argument has another dtype or layout. */
MC_API int mc_plan_call(mc_plan *p, mc_tensor *const *in, mc_tensor *const *out);
/* The same into tensors that are there, of dtype and shape of the results. They may be arguments:
 * those are read before they are written. */
MC_API int mc_plan_into(mc_plan *p, mc_tensor *const *in, mc_tensor *const *out);

/* Bytes of registers that a worker of the vector machine uses at a time (1 KiB to 1 MiB; else it
 * stays): the one before. No result depends on it. */
MC_API int64_t mc_vm_cache(int64_t bytes);

/* ---- native code: generated C, made by a compiler beside us ---- */
/* A generated elementwise function: n elements of leaves `in` (each running along, or one value, as
 * generated) into results `out`. 0, or the first element (from 1) with a forbidden value, and the
 * op that forbids it in *op. */
typedef int64_t (*mc_native_fn)(int64_t n, void *const *out, const void *const *in, int32_t *op);
/* Gives step `step` (from 0) of a plan, a fused group, a function for the instruction level in use;
 * one[k]: leaf k is read as one value per row. NULL takes it away. The group's own program serves
 * when the level changes. */
MC_API int mc_plan_native(mc_plan *p, int step, mc_native_fn fn, const int32_t *one);
/* The same for the steps behind a step `tiles`, all in one: fn takes n rows through them. in:
 * leaves, then int64_t steps (bytes from row to row of leaves and results, number of the first row,
 * lengths, places of buffers), room for the buffers, and the ops along rows. leaves, results:
 * places in the list of mc_plan_views; members, their lengths: steps (from 0) that are ops along
 * rows, and which of the lengths is theirs. */
MC_API int mc_plan_rows(mc_plan *p, int step, mc_native_fn fn, int nleaves, const int32_t *leaves,
                        int nresults, const int32_t *results, int nlengths,
                        const int64_t *lengths, int nslots, const int64_t *slot_bytes, int nops,
                        const int32_t *members, const int32_t *member_lengths);
/* A user's reduction: part makes the state of n elements, join puts a later one into an earlier,
 * finish writes the results. */
typedef struct mc_reduction {
    void (*part)(int64_t n, const void *const *in, void *state);
    void (*join)(void *state, const void *other);
    void (*finish)(const void *state, void *const *out);
    int64_t bytes; /* of a state */
} mc_reduction;
/* Makes it an op: operands of these dtypes and of one shape, reduced along their last axis. Its
 * number, or -1 with the error set; code and op stay until the process ends. program, lanes: the
 * same for devices (lua/mascon/kernel/reduction.lua), copied, with lanes of its groups. */
MC_API int mc_reduction_row(const char *name, const mc_reduction *r, int nin, const int8_t *in,
                            int nout, const int8_t *out, const char *program, int lanes);
/* A user's function over [first, last); called for pieces of [0, n) of `grain` elements. shape[k]:
 * sizes of input k. */
typedef void (*mc_range_kernel)(int64_t first, int64_t last, void *const *out,
              const void *const *in, const int64_t *const *shape, const double *values);
/* Makes it an op: operands are inputs of these dtypes, then numbers, then tensors in whose shapes
 * the results come (none, one, one for each). Parameters: axes of the first input, n (-1: elements
 * of the first result); axes before those are copies of one another. As mc_reduction_row. */
MC_API int mc_range_row(const char *name, mc_range_kernel fn, int64_t grain, int nin,
                        const int8_t *in, int nvalues, int nout, const int8_t *out);
typedef struct mc_compiler mc_compiler;
/* Starts argv (NULL at its end) with its output in folder/log; killed after `seconds`. Owns:
 * mc_compiler_free, which kills it if need be and removes the folder with its files, as the end of
 * the program does. NULL with the error record set when it cannot be started. */
MC_API mc_compiler *mc_compiler_start(const char *const *argv, const char *folder, double seconds);
/* 0 running, 1 ended well, 2 failed, 3 killed when its time was over. */
MC_API int mc_compiler_poll(mc_compiler *c);
MC_API void mc_compiler_free(mc_compiler *c);
/* Sleeps for some seconds, less when a signal comes. */
MC_API void mc_pause(double seconds);
/* Opens a library that a compiler made, for the life of the process; NULL with the error record set
 * when it is not complete. */
MC_API void *mc_code_open(const char *path);
MC_API void *mc_code_find(void *code, const char *name);
/* Sets the variable `name` of such a library to the kernel of an elementwise op for a dtype and an
 * instruction level. */
MC_API int mc_code_kernel(void *code, const char *name, int op, int dtype, const char *isa);
/* A new private folder for temporary files; its name into path. */
MC_API int mc_folder_temporary(char *path, int64_t room);
/* Removes a folder and the files in it. */
MC_API int mc_folder_remove(const char *path);
/* Makes a folder that only this user can enter; an error when it is there and is not. */
MC_API int mc_folder_private(const char *path);
/* Names in a folder, each with a newline, as far as they fit; returns the room for all of them, -1
 * when it cannot be read. */
MC_API int64_t mc_folder_list(const char *path, char *names, int64_t room);
/* [0] bytes, [1] time of the last change in seconds, [2] 1: a file of this user that nobody else
 * can write, [3] its number. */
MC_API int mc_file_facts(const char *path, double facts[4]);
MC_API int mc_file_touch(const char *path);
/* A new file that only its user may read and write, whatever the umask. */
MC_API int mc_file_private(const char *path, const void *bytes, int64_t n);
/* Files that appear in a folder together or not at all. _new makes a private folder inside `dir`,
 * completes a publication that was killed and removes what processes that are gone left there.
 * _publish moves what was written to _folder into dir; `last` names the file that vouches for the
 * set (removed first, moved last), `stale` files of the set before that go, a line each. _free
 * removes what is not published; owns. */
typedef struct mc_file_set mc_file_set;
MC_API mc_file_set *mc_file_set_new(const char *dir);
MC_API const char *mc_file_set_folder(const mc_file_set *s);
MC_API int mc_file_set_publish(mc_file_set *s, const char *last, const char *stale,
                               const char *fresh);
MC_API void mc_file_set_free(mc_file_set *s);
/* Completes a publication into dir that was killed; nothing to do is MC_OK. */
MC_API int mc_file_set_recover(const char *dir);
/* A file that says who writes an output; the system frees it when the process ends, however it
 * ends. NULL while another process (or this one) holds it; the message names that. _free removes
 * it; owns. */
typedef struct mc_lock mc_lock;
MC_API mc_lock *mc_lock_take(const char *path);
MC_API void mc_lock_free(mc_lock *l);
/* Whether path is the file of a lock, as it was when the lock was taken. */
MC_API int mc_lock_is(const mc_lock *l, const char *path);
/* Whether two names lead to one file, links followed; 0 where one of them is not there. */
MC_API int mc_file_same(const char *a, const char *b);
/* The program of a name as the shell finds it, links resolved. */
MC_API int mc_file_program(const char *name, char *found, int64_t room);

/* A view of a kept operand. Shares. */
MC_API int mc_record_kept(mc_tensor *out, const mc_record_operand *o);

#ifndef MC_CDEF
#ifdef __cplusplus
}
#endif
#endif
#endif
