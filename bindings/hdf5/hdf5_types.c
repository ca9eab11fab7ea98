/* hdf5_types.c - which types of HDF5 files are numbers, texts or references here.
 *
 * Holds the table from types in the file to what is delivered, and the types in memory. Numbers
 * without a dtype of their own come in the next wider signed one; what loses digits or has no
 * meaning here (long doubles, dates, tables, opaque bytes) stays unknown. */
#include "parts.h"

#include <stdio.h>
#include <string.h>

static hid_t small_float(size_t exponent, size_t mantissa, size_t bias)
{
    hid_t t = H5Tcopy(H5T_IEEE_F32LE);
    if (t >= 0 && (H5Tset_fields(t, 15, mantissa, exponent, 0, mantissa) < 0 ||
                   H5Tset_size(t, 2) < 0 || H5Tset_ebias(t, bias) < 0)) {
        (void)H5Tclose(t);
        return -1;
    }
    return t;
}

static hid_t complex_type(hid_t part, size_t size, const char *re, const char *im)
{
    hid_t t = H5Tcreate(H5T_COMPOUND, 2 * size);
    if (t >= 0 && (H5Tinsert(t, re, 0, part) < 0 || H5Tinsert(t, im, size, part) < 0)) {
        (void)H5Tclose(t);
        return -1;
    }
    return t;
}

hid_t hdf5_memory_type(int type, int size)
{
    switch (type) {
    case 'b': {
        const char no = 0, yes = 1;
        hid_t t = H5Tenum_create(H5T_STD_I8LE);
        if (t >= 0 &&
            (H5Tenum_insert(t, "FALSE", &no) < 0 || H5Tenum_insert(t, "TRUE", &yes) < 0)) {
            (void)H5Tclose(t);
            return -1;
        }
        return t;
    }
    case 'u':
        return H5Tcopy(size == 1   ? H5T_STD_U8LE
                       : size == 2 ? H5T_STD_U16LE
                       : size == 4 ? H5T_STD_U32LE
                                   : H5T_STD_U64LE);
    case 'i':
        return H5Tcopy(size == 1   ? H5T_STD_I8LE
                       : size == 2 ? H5T_STD_I16LE
                       : size == 4 ? H5T_STD_I32LE
                                   : H5T_STD_I64LE);
    case 'f':
        return size == 2 ? small_float(5, 10, 15)
                         : H5Tcopy(size == 4 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE);
    case 'w': return small_float(8, 7, 127);
    case 'c':
        return complex_type(size == 8 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE, (size_t)size / 2, "r",
                            "i");
    default: return -1;
    }
}

static void holds_numbers(hdf5_content *c, int type, int size)
{
    c->holds = MC_H5_NUMBERS;
    c->type = type;
    c->size = size;
    c->memory = hdf5_memory_type(type, size);
}

/* Whole numbers: those without a dtype of their own come in the next wider signed one. */
static void holds_integers(hdf5_content *c, hid_t type)
{
    const size_t size = H5Tget_size(type);
    const int is_signed = H5Tget_sign(type) != H5T_SGN_NONE;
    if (size == 0 || size > 8) return;
    if (!is_signed && size == 1)
        holds_numbers(c, 'u', 1);
    else if (!is_signed && size == 8)
        holds_numbers(c, 'u', 8); /* checked, then the same bits */
    else if (!is_signed)
        holds_numbers(c, 'i', size < 4 ? 4 : 8);
    else
        holds_numbers(c, 'i', size > 4 ? 8 : size > 2 ? 4 : (int)size);
}

static void holds_floats(hdf5_content *c, hid_t type)
{
    size_t sign, exponent_at, exponent, mantissa_at, mantissa;
    const size_t size = H5Tget_size(type), bias = H5Tget_ebias(type);
    if (size == 4)
        holds_numbers(c, 'f', 4);
    else if (size == 8)
        holds_numbers(c, 'f', 8);
    else if (size == 2 &&
             H5Tget_fields(type, &sign, &exponent_at, &exponent, &mantissa_at, &mantissa) >= 0) {
        if (exponent == 5 && mantissa == 10 && bias == 15) holds_numbers(c, 'f', 2);
        if (exponent == 8 && mantissa == 7 && bias == 127) holds_numbers(c, 'w', 2);
    }
}

static void member_name(hid_t type, unsigned i, char out[8])
{
    char *name = H5Tget_member_name(type, i);
    (void)snprintf(out, 8, "%s", name ? name : "");
    (void)H5free_memory(name);
}

/* FALSE = 0, TRUE = 1 are booleans, other lists of names their numbers. */
static void holds_names(hdf5_content *c, hid_t type)
{
    char first[8], second[8];
    hid_t base = H5Tget_super(type);
    if (base < 0) return;
    if (H5Tget_nmembers(type) == 2 && H5Tget_size(type) == 1) {
        signed char a = 9, b = 9;
        member_name(type, 0, first);
        member_name(type, 1, second);
        if (!strcmp(first, "FALSE") && !strcmp(second, "TRUE") &&
            H5Tget_member_value(type, 0, &a) >= 0 && H5Tget_member_value(type, 1, &b) >= 0 &&
            a == 0 && b == 1) {
            c->holds = MC_H5_NUMBERS;
            c->type = 'b';
            c->size = 1;
            c->memory = H5Tcopy(type);
        }
    }
    if (c->holds == MC_H5_UNKNOWN) {
        holds_integers(c, base);
        if (c->memory >= 0) { /* names in memory, too: libhdf5 converts no names to numbers */
            (void)H5Tclose(c->memory);
            c->memory = H5Tget_native_type(type, H5T_DIR_ASCEND);
            const size_t size = H5Tget_size(base);
            c->type = H5Tget_sign(base) == H5T_SGN_NONE ? 'u' : 'i';
            c->size = (int)size;
            if (c->memory < 0 || (size != 1 && size != 2 && size != 4 && size != 8) ||
                (c->type == 'u' && (size == 2 || size == 4))) {
                c->holds = MC_H5_UNKNOWN;
                if (c->memory >= 0) (void)H5Tclose(c->memory);
                c->memory = -1;
            }
        }
    }
    (void)H5Tclose(base);
}

/* Complex numbers as h5py (r, i) and MATLAB (real, imag) keep them. */
static void holds_pairs(hdf5_content *c, hid_t type)
{
    char first[8], second[8];
    if (H5Tget_nmembers(type) != 2) return;
    member_name(type, 0, first);
    member_name(type, 1, second);
    if (!(!strcmp(first, "r") && !strcmp(second, "i")) &&
        !(!strcmp(first, "real") && !strcmp(second, "imag")))
        return;
    hid_t a = H5Tget_member_type(type, 0), b = H5Tget_member_type(type, 1);
    const size_t size = a >= 0 ? H5Tget_size(a) : 0;
    if (b >= 0 && H5Tget_class(a) == H5T_FLOAT && H5Tget_class(b) == H5T_FLOAT &&
        size == H5Tget_size(b) && (size == 4 || size == 8) &&
        H5Tget_member_offset(type, 0) <= H5Tget_size(type) - size &&
        H5Tget_member_offset(type, 1) <= H5Tget_size(type) - size &&
        H5Tget_size(type) >= 2 * size) {
        c->holds = MC_H5_NUMBERS;
        c->type = 'c';
        c->size = 2 * (int)size;
        c->memory = complex_type(size == 4 ? H5T_IEEE_F32LE : H5T_IEEE_F64LE, size, first, second);
    }
    if (a >= 0) (void)H5Tclose(a);
    if (b >= 0) (void)H5Tclose(b);
}

/* A list of single characters is a text: so MATLAB writes the names of fields. */
static void holds_lists(hdf5_content *c, hid_t type)
{
    hid_t base = H5Tget_super(type);
    if (base < 0) return;
    if (H5Tget_class(base) == H5T_STRING && H5Tis_variable_str(base) == 0 &&
        H5Tget_size(base) == 1) {
        c->holds = MC_H5_TEXTS;
        c->memory = H5Tcopy(type);
    }
    (void)H5Tclose(base);
}

void hdf5_content_of(hid_t type, hdf5_content *c)
{
    c->holds = MC_H5_UNKNOWN;
    c->type = c->size = 0;
    c->memory = -1;
    switch (H5Tget_class(type)) {
    case H5T_INTEGER: holds_integers(c, type); break;
    case H5T_FLOAT: holds_floats(c, type); break;
    case H5T_ENUM: holds_names(c, type); break;
    case H5T_COMPOUND: holds_pairs(c, type); break;
    case H5T_VLEN: holds_lists(c, type); break;
    case H5T_STRING:
        c->holds = MC_H5_TEXTS;
        c->memory = H5Tcopy(type);
        break;
    case H5T_BITFIELD:
        if (H5Tget_size(type) == 1) {
            holds_numbers(c, 'u', 1);
            if (c->memory >= 0) (void)H5Tclose(c->memory);
            c->memory = H5Tcopy(H5T_STD_B8LE);
        }
        break;
    case H5T_REFERENCE:
        if (H5Tequal(type, H5T_STD_REF_OBJ) > 0) {
            c->holds = MC_H5_REFERENCES;
            c->type = 'i';
            c->size = 8;
            c->memory = H5Tcopy(H5T_STD_REF_OBJ);
        }
        break;
    default: break;
    }
    if (c->memory < 0) c->holds = MC_H5_UNKNOWN;
}
