/* mc_edf_notes.c - annotations, record onsets and gaps of EDF+ and BDF+.
 *
 * An annotation signal holds, in each record, time-stamped lists:
 * `+onset[\x15duration]\x14text\x14text\x14\0`, padded with zero bytes. The first list of the
 * first such signal opens with an empty text and tells when the record itself starts. Sources:
 * the EDF+ specification (2003), section 2.2. Holds the parsing; a malformed list costs the rest
 * of its signal in that record and sets a warning, nothing else. */
#define MCI_FORMATS
#include "formats/mc_formats.h"
#include "base/mc_error.h"
#include "base/mc_memory.h"

#include <math.h>
#include <string.h>

#define DURATION_MARK 21
#define TEXT_MARK 20

/* What a scan has found so far; moved to the handle when all went well. */
typedef struct scan {
    const mc_edf *f;
    mci_edf_note *notes;
    int64_t n_notes, note_room;
    char *text;
    int64_t text_bytes, text_room;
    double *onsets;
    int64_t warnings;
    double onset; /* of the current record */
    int has_onset;
} scan;

static int reserve(scan *s, int64_t text)
{
    if (s->n_notes == s->note_room) {
        int64_t room = s->note_room ? 2 * s->note_room : 64;
        mci_edf_note *p = mci_realloc(s->notes, (size_t)room * sizeof *p);
        if (!p) return mc_errstatus();
        s->notes = p;
        s->note_room = room;
    }
    if (s->text_bytes + text > s->text_room) {
        int64_t room = 2 * s->text_room + text + 1024;
        char *p = mci_realloc(s->text, (size_t)room);
        if (!p) return mc_errstatus();
        s->text = p;
        s->text_room = room;
    }
    return MC_OK;
}

static int keep_note(scan *s, double onset, double duration, const unsigned char *p, int64_t n)
{
    int latin, rc = reserve(s, 2 * n + 1);
    if (rc != MC_OK) return rc;
    s->notes[s->n_notes].onset = onset;
    s->notes[s->n_notes].duration = duration;
    s->notes[s->n_notes].text = s->text_bytes;
    s->n_notes++;
    s->text_bytes += mci_edf_utf8(p, n, s->text + s->text_bytes, &latin) + 1;
    if (latin) s->warnings |= MC_EDF_WARN_TEXT;
    return MC_OK;
}

/* First place in [p, end) with a byte equal to a or b, or end. */
static const unsigned char *find(const unsigned char *p, const unsigned char *end, int a, int b)
{
    while (p < end && *p != a && *p != b) p++;
    return p;
}

/* One list, p[0..n) without its closing zero byte. timekeeping: its first text, if empty, belongs
 * to the record. MC_EFORMAT (without a message) when it is malformed. */
static int parse_list(scan *s, const unsigned char *p, int64_t n, int timekeeping)
{
    const unsigned char *end = p + n, *mark = find(p, end, TEXT_MARK, DURATION_MARK), *text;
    double onset, duration = NAN;
    int rc = MC_OK;
    if (mark == end || (*p != '+' && *p != '-') || !mci_edf_number(p, mark - p, &onset))
        return MC_EFORMAT;
    if (*mark == DURATION_MARK) {
        p = mark + 1;
        mark = find(p, end, TEXT_MARK, TEXT_MARK);
        if (mark == end) return MC_EFORMAT;
        if (mark > p && (!mci_edf_number(p, mark - p, &duration) || duration < 0))
            return MC_EFORMAT;
    }
    for (text = mark + 1; rc == MC_OK && text < end; text = mark + 1) {
        mark = find(text, end, TEXT_MARK, TEXT_MARK);
        if (mark == end) return MC_EFORMAT;
        if (timekeeping && mark == text && !s->has_onset) {
            s->onset = onset;
            s->has_onset = 1;
        } else if (mark > text) {
            rc = keep_note(s, onset, duration, text, mark - text);
        }
        timekeeping = 0;
    }
    return rc;
}

/* The lists of one annotation signal in one record. */
static int parse_signal(scan *s, const unsigned char *p, int64_t n, int timekeeping)
{
    const unsigned char *end = p + n;
    while (p < end) {
        const unsigned char *stop;
        int rc;
        if (*p == 0) { /* padding */
            p++;
            timekeeping = 0;
            continue;
        }
        stop = memchr(p, 0, (size_t)(end - p));
        if (!stop) stop = end; /* some writers leave out the last zero byte */
        rc = parse_list(s, p, stop - p, timekeeping);
        if (rc == MC_EFORMAT) {
            s->warnings |= MC_EDF_WARN_TAL;
            return MC_OK;
        }
        if (rc != MC_OK) return rc;
        timekeeping = 0;
        p = stop < end ? stop + 1 : end;
    }
    return MC_OK;
}

static int scan_record(scan *s, const unsigned char *p, int64_t lo, int64_t record)
{
    const mc_edf *f = s->f;
    int first = 1, rc = MC_OK;
    s->has_onset = 0;
    for (int i = 0; rc == MC_OK && i < f->n_signals; i++) {
        const mci_edf_signal *g = &f->signals[i];
        if (!g->notes) continue;
        rc = parse_signal(s, p + g->offset - lo, g->samples * f->sample_bytes, first);
        first = 0;
    }
    if (!s->has_onset) {
        s->onset = record ? s->onsets[record - 1] + f->record_seconds : 0;
        s->warnings |= MC_EDF_WARN_ONSET;
    }
    s->onsets[record] = s->onset;
    return rc;
}

static int scan_records(scan *s, int64_t lo, int64_t hi)
{
    const mc_edf *f = s->f;
    mci_edf_span span;
    int rc;
    s->onsets = mci_calloc((size_t)f->n_records, sizeof *s->onsets);
    if (!s->onsets) return mc_errstatus();
    rc = mci_edf_span_open(&span, f, lo, hi, f->n_records);
    for (int64_t r = 0; rc == MC_OK && r < f->n_records; r++) {
        const unsigned char *p;
        rc = mci_edf_span_at(&span, r, f->n_records - 1, &p);
        if (rc == MC_OK) rc = scan_record(s, p, lo, r);
    }
    mci_edf_span_close(&span);
    return rc;
}

/* A record that starts more than half a sample of the fastest channel off its time follows a gap.
 * Onsets are written with as few digits as the writer likes, so nothing smaller can be told. */
static double gap_tolerance(const mc_edf *f)
{
    int64_t most = 1;
    for (int c = 0; c < f->n_channels; c++)
        if (f->signals[f->channels[c]].samples > most) most = f->signals[f->channels[c]].samples;
    return f->n_channels > 0 ? 0.5 * f->record_seconds / (double)most : 1e-6;
}

static int gap_before(const mc_edf *f, int64_t record, double *expected)
{
    if (!f->onsets || record == 0) return 0;
    *expected = f->onsets[record - 1] + f->record_seconds;
    return fabs(f->onsets[record] - *expected) > gap_tolerance(f);
}

/* Moves what a scan found to the handle. */
static void adopt(mc_edf *f, scan *s)
{
    double expected;
    f->scanned = 1;
    f->warnings |= s->warnings;
    f->notes = s->notes;
    f->note_text = s->text;
    f->onsets = s->onsets;
    f->n_notes = s->n_notes;
    f->note_bytes = s->text_bytes;
    f->n_gaps = 0;
    if (!f->onsets) return;
    f->start_fraction = f->onsets[0];
    f->end_seconds = f->onsets[f->n_records - 1] + f->record_seconds;
    /* A file of annotations only has records without a duration: nothing there is continuous. */
    for (int64_t r = 1; f->n_channels > 0 && r < f->n_records; r++)
        f->n_gaps += gap_before(f, r, &expected);
}

int mc_edf_scan(mc_edf *f)
{
    scan s;
    int64_t lo = INT64_MAX, hi = 0;
    int rc = MC_OK;
    if (!f) return mci_error(MC_EINVAL, "edf: no file; open it first");
    if (f->scanned) return MC_OK;
    memset(&s, 0, sizeof s);
    s.f = f;
    for (int i = 0; i < f->n_signals; i++) {
        const mci_edf_signal *g = &f->signals[i];
        if (!g->notes) continue;
        if (g->offset < lo) lo = g->offset;
        hi = g->offset + g->samples * f->sample_bytes;
    }
    if (hi > 0) rc = scan_records(&s, lo, hi);
    if (rc == MC_OK) {
        adopt(f, &s);
        return MC_OK;
    }
    mci_free(s.notes);
    mci_free(s.text);
    mci_free(s.onsets);
    return rc;
}

static int need_scan(const mc_edf *f)
{
    if (!f) return mci_error(MC_EINVAL, "edf: no file; open it first");
    if (f->scanned) return MC_OK;
    return mci_error(MC_EINVAL,
                     "edf: %s: its annotation lists are not read yet; call mc_edf_scan first",
                     mci_infile_name(f->src));
}

int mc_edf_onsets(const mc_edf *f, double *out)
{
    int rc = f && f->kind == MC_EDF_PLAIN ? MC_OK : need_scan(f);
    if (rc != MC_OK) return rc;
    if (!out) return mci_error(MC_EINVAL, "edf: no place for the onsets; check the call");
    for (int64_t r = 0; r < f->n_records; r++)
        out[r] = f->onsets ? f->onsets[r] : (double)r * f->record_seconds;
    return MC_OK;
}

int mc_edf_gaps(const mc_edf *f, int64_t *records, double *times)
{
    int64_t n = 0;
    int rc = need_scan(f);
    if (rc != MC_OK) return rc;
    if (f->n_gaps > 0 && (!records || !times))
        return mci_error(MC_EINVAL, "edf: no place for the gaps; check the call");
    for (int64_t r = 1; r < f->n_records && n < f->n_gaps; r++) {
        double expected;
        if (!gap_before(f, r, &expected)) continue;
        records[n] = r;
        times[2 * n] = expected;
        times[2 * n + 1] = f->onsets[r];
        n++;
    }
    return MC_OK;
}

int mc_edf_annotation(const mc_edf *f, int64_t i, double *out)
{
    int rc = need_scan(f);
    if (rc != MC_OK) return rc;
    if (!out || i < 0 || i >= f->n_notes)
        return mci_error(MC_EINVAL, "edf: no such annotation, the file has %lld; check the number",
                         (long long)f->n_notes);
    out[0] = f->notes[i].onset;
    out[1] = f->notes[i].duration;
    return MC_OK;
}

const char *mc_edf_annotation_text(const mc_edf *f, int64_t i)
{
    return f && i >= 0 && i < f->n_notes ? f->note_text + f->notes[i].text : NULL;
}
