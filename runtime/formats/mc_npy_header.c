/* mc_npy_header.c - the text at the start of an npy image: parsed without trust, written as NumPy
 * writes it.
 *
 * Layout (NumPy enhancement proposal 1): 6 magic bytes, version major and minor, header length
 * (2 bytes in version 1, 4 in 2 and 3, little-endian), then a Python dict literal with the keys
 * descr, fortran_order and shape. The parser knows exactly the literals which can stand there
 * and names what it meets instead. Holds the table of dtype codes. */
#define MCI_FORMATS
#include "formats/mc_formats.h"
#include "base/mc_error.h"

#include <stdio.h>
#include <string.h>

#define ALIGNMENT 64
/* A first axis that grows needs room for the largest number. NumPy leaves the same. */
#define GROWTH_DIGITS 21

typedef struct code {
    const char *text; /* without the byte order */
    int item, dtype, widened;
} code;

/* The first row of a dtype is the one that is written. */
static const code codes[] = {
    { "b1", 1, MC_BOOL, 0 }, { "u1", 1, MC_U8, 0 },   { "i1", 1, MC_I8, 0 },
    { "i2", 2, MC_I16, 0 },  { "i4", 4, MC_I32, 0 },  { "i8", 8, MC_I64, 0 },
    { "f2", 2, MC_F16, 0 },  { "V2", 2, MC_BF16, 0 }, { "f4", 4, MC_F32, 0 },
    { "f8", 8, MC_F64, 0 },  { "c8", 8, MC_C64, 0 },  { "c16", 16, MC_C128, 0 },
    { "?", 1, MC_BOOL, 0 },  { "u2", 2, MC_I32, 1 },  { "u4", 4, MC_I64, 1 },
    { "u8", 8, MC_I64, 1 },
};
#define N_CODES ((int)(sizeof codes / sizeof codes[0]))

typedef struct scanner {
    const unsigned char *p, *end;
    const char *name;
} scanner;

static int little_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

static int bad(const scanner *s, const char *what)
{
    return mci_error(
        MC_EFORMAT,
        "npy: the header of %s is broken: %s; write the file again with numpy.save or mc.save",
        s->name, what);
}

static void skip_space(scanner *s)
{
    while (s->p < s->end && (*s->p == ' ' || (*s->p >= '\t' && *s->p <= '\r'))) s->p++;
}

/* Takes the character c, after spaces. */
static int take(scanner *s, int c)
{
    skip_space(s);
    if (s->p >= s->end || *s->p != c) return 0;
    s->p++;
    return 1;
}

static int is_word(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* A quoted string without escapes into out[0..cap); a Python 2 prefix u or b is skipped. */
static int take_string(scanner *s, char *out, int cap)
{
    int quote, n = 0;
    skip_space(s);
    if (s->end - s->p >= 2 && (*s->p == 'u' || *s->p == 'b') && (s->p[1] == '\'' || s->p[1] == '"'))
        s->p++;
    if (s->p >= s->end || (*s->p != '\'' && *s->p != '"')) return 0;
    quote = *s->p++;
    while (s->p < s->end && *s->p != quote) {
        if (*s->p == '\\' || *s->p < ' ' || n + 1 >= cap) return 0;
        out[n++] = (char)*s->p++;
    }
    if (s->p >= s->end) return 0;
    s->p++;
    out[n] = 0;
    return 1;
}

static int take_bool(scanner *s, int *out)
{
    static const char *const words[] = { "False", "True" };
    skip_space(s);
    for (int v = 0; v < 2; v++) {
        size_t n = strlen(words[v]);
        if ((size_t)(s->end - s->p) < n || memcmp(s->p, words[v], n) != 0) continue;
        if (s->p + n < s->end && is_word(s->p[n])) continue;
        s->p += n;
        *out = v;
        return 1;
    }
    return 0;
}

/* A size: decimal digits, then possibly the L of Python 2. */
static int take_size(scanner *s, int64_t *out)
{
    int64_t v = 0;
    const unsigned char *first;
    skip_space(s);
    first = s->p;
    while (s->p < s->end && *s->p >= '0' && *s->p <= '9') {
        int d = *s->p++ - '0';
        if (v > (INT64_MAX - d) / 10) return 0;
        v = v * 10 + d;
    }
    if (s->p == first) return 0;
    if (s->p < s->end && *s->p == 'L') s->p++;
    if (s->p < s->end && is_word(*s->p)) return 0;
    *out = v;
    return 1;
}

static int parse_shape(scanner *s, mci_npy_header *h)
{
    int comma = 1;
    h->rank = 0;
    if (!take(s, '(')) return bad(s, "shape is not a tuple");
    while (!take(s, ')')) {
        if (!comma) return bad(s, "shape lacks a comma");
        if (h->rank == MCI_NPY_RANK)
            return mci_error(MC_EUNSUPPORTED,
                             "npy: %s has more than %d axes; reshape it before saving", s->name,
                             MCI_NPY_RANK);
        if (!take_size(s, &h->shape[h->rank]))
            return bad(s, "a size in shape is not a whole number below 2^63");
        h->rank++;
        comma = take(s, ',');
    }
    if (h->rank == 1 && !comma) return bad(s, "shape is a number in brackets, not a tuple");
    return MC_OK;
}

/* A dtype that exists in NumPy and not here: says which. */
static int refuse_dtype(const scanner *s, const char *descr)
{
    int c = descr[0] == '<' || descr[0] == '>' || descr[0] == '|' || descr[0] == '=' ? descr[1]
                                                                                     : descr[0];
    const char *what = "an unknown dtype", *todo = "convert it to a number dtype before saving";
    if (c == 'O') what = "an object array (pickled Python, never loaded because it can run code)";
    if (c == 'S' || c == 'a') what = "a byte string array";
    if (c == 'U') what = "a text array";
    if (c == 'V') what = "an array of raw bytes";
    if (c == 'M' || c == 'm') {
        what = "a date or time difference array";
        todo = "convert it with .astype('int64') before saving";
    }
    if (c == 'f' || c == 'c') {
        what = "a float array wider than f64";
        todo = "convert it to float64 or complex128 before saving";
    }
    return mci_error(MC_EUNSUPPORTED, "npy: %s holds dtype '%.32s', %s; %s", s->name, descr, what,
                     todo);
}

static int parse_descr(scanner *s, mci_npy_header *h)
{
    char text[64];
    const char *t = text;
    int order = '=';
    skip_space(s);
    if (s->p < s->end && *s->p == '[')
        return mci_error(
            MC_EUNSUPPORTED,
            "npy: %s is a structured array (a record of named fields); save each field "
            "as its own array, for example with numpy.savez",
            s->name);
    if (!take_string(s, text, (int)sizeof text)) return bad(s, "descr is not a short string");
    if (*t == '<' || *t == '>' || *t == '|' || *t == '=') order = *t++;
    for (int i = 0; i < N_CODES; i++) {
        if (strcmp(t, codes[i].text) != 0) continue;
        h->dtype = codes[i].dtype;
        h->item = codes[i].item;
        h->widened = codes[i].widened;
        h->swapped = h->item > 1 &&
                     ((order == '<' && !little_endian()) || (order == '>' && little_endian()));
        return MC_OK;
    }
    return refuse_dtype(s, text);
}

/* The dict from after its brace to the closing one. */
static int parse_dict(scanner *s, mci_npy_header *h)
{
    static const char *const keys[] = { "descr", "fortran_order", "shape" };
    int seen = 0, comma = 1;
    while (!take(s, '}')) {
        char key[32];
        int k = 0, rc = MC_OK;
        if (!comma) return bad(s, "a comma is missing between two entries");
        if (!take_string(s, key, (int)sizeof key)) return bad(s, "a key is not a short string");
        while (k < 3 && strcmp(key, keys[k]) != 0) k++;
        if (k == 3) return bad(s, "it has a key besides descr, fortran_order and shape");
        if (seen & 1 << k) return bad(s, "a key comes twice");
        seen |= 1 << k;
        if (!take(s, ':')) return bad(s, "a key has no value");
        if (k == 0) rc = parse_descr(s, h);
        if (k == 1 && !take_bool(s, &h->fortran))
            rc = bad(s, "fortran_order is neither True nor False");
        if (k == 2) rc = parse_shape(s, h);
        if (rc != MC_OK) return rc;
        comma = take(s, ',');
    }
    if (seen != 7) return bad(s, "descr, fortran_order or shape is missing");
    return MC_OK;
}

/* Element count and bytes, without overflow even where an axis is empty. */
static int count_elements(const char *op, const char *name, mci_npy_header *h)
{
    int64_t full = h->item;
    int empty = 0;
    for (int i = 0; i < h->rank; i++) {
        int64_t n = h->shape[i];
        if (n == 0) {
            empty = 1;
            continue;
        }
        if (full > INT64_MAX / n)
            return mci_error(MC_EFORMAT,
                             "%s: the shape of %s needs more than 2^63 bytes; check its sizes", op,
                             name);
        full *= n;
    }
    h->numel = empty ? 0 : full / h->item;
    return MC_OK;
}

int mci_npy_parse(const unsigned char *p, int64_t n, const char *name, mci_npy_header *h)
{
    scanner s = { p, p + n, name };
    int64_t length, start;
    int rc;
    memset(h, 0, sizeof *h);
    if (n < 6 || memcmp(p, "\x93NUMPY", 6) != 0)
        return mci_error(MC_EFORMAT,
                         "npy: %s does not begin like an npy file; check which file this is", name);
    if (n < 10) return bad(&s, "the file ends inside it");
    if (p[6] < 1 || p[6] > 3)
        return mci_error(MC_EUNSUPPORTED,
                         "npy: %s has format version %d.%d, known are 1 to 3; save it with a "
                         "released NumPy",
                         name, p[6], p[7]);
    start = p[6] == 1 ? 10 : 12;
    if (n < start) return bad(&s, "the file ends inside it");
    length = p[6] == 1 ? (int64_t)mci_le16(p + 8) : (int64_t)mci_le32(p + 8);
    if (length > n - start) return bad(&s, "the file ends inside it");
    s.p = p + start;
    s.end = s.p + length;
    if (!take(&s, '{')) return bad(&s, "it is not a dict");
    rc = parse_dict(&s, h);
    if (rc != MC_OK) return rc;
    skip_space(&s);
    if (s.p != s.end) return bad(&s, "something follows the dict");
    h->offset = start + length;
    return count_elements("npy", name, h);
}

int mci_npy_plan(const char *op, int dtype, int rank, const int64_t *shape, int fortran, int grows,
                 mci_npy_header *h)
{
    int row = 0;
    memset(h, 0, sizeof *h);
    while (row < N_CODES && codes[row].dtype != dtype) row++;
    if (row == N_CODES)
        return mci_error(MC_EDTYPE, "%s: there is no dtype %d; see mc_dtype_name", op, dtype);
    if (rank < 0 || rank > MCI_NPY_RANK || (rank > 0 && !shape))
        return mci_error(MC_ESHAPE, "%s: rank %d is not in 0..%d; reshape first", op, rank,
                         MCI_NPY_RANK);
    h->dtype = dtype;
    h->item = codes[row].item;
    h->rank = rank;
    h->fortran = fortran != 0;
    for (int i = 0; i < rank; i++) {
        int open = i == 0 && grows && shape[0] == -1;
        if (shape[i] < 0 && !open)
            return mci_error(
                MC_ESHAPE,
                "%s: negative size %lld in the shape; only the first size of a growing array in "
                "C order may be -1",
                op, (long long)shape[i]);
        if (open && fortran)
            return mci_error(
                MC_ESHAPE,
                "%s: an array in Fortran order cannot grow along its first axis; use C order", op);
        h->shape[i] = open ? 0 : shape[i];
    }
    return count_elements(op, "the array", h);
}

int mci_npy_format(const mci_npy_header *h, int grows, unsigned char out[MCI_NPY_HEADER])
{
    char text[MCI_NPY_HEADER], digits[32];
    int n, total, used, row = 0, order;
    while (codes[row].dtype != h->dtype) row++;
    order = h->item == 1 ? '|' : little_endian() ? '<' : '>';
    n = snprintf(text, sizeof text, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (", order,
                 codes[row].text, h->fortran ? "True" : "False");
    for (int i = 0; i < h->rank; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%lld%s", (long long)h->shape[i],
                      h->rank == 1      ? ","
                      : i + 1 < h->rank ? ", "
                                        : "");
    n += snprintf(text + n, sizeof text - (size_t)n, "), }");
    /* Room for the axis that may grow: the last one in Fortran order. The same as NumPy leaves. */
    used = 0;
    if (h->rank > 0)
        used = snprintf(digits, sizeof digits, "%lld",
                        (long long)h->shape[h->fortran ? h->rank - 1 : 0]);
    if (h->rank > 0 || grows)
        for (int i = used; i < GROWTH_DIGITS; i++) text[n++] = ' ';
    total = (10 + n + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(out, ' ', (size_t)total);
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (unsigned char)((total - 10) & 255);
    out[9] = (unsigned char)((total - 10) >> 8);
    memcpy(out + 10, text, (size_t)n);
    out[total - 1] = '\n';
    return total;
}
