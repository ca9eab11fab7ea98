/* icudata.c - the data library of ICU without data, for the packed folder.
 *
 * libxml2, below librsvg, asks ICU for encodings that it does not know itself. Figures are UTF-8,
 * so the 30 MB of tables are never read. ICU takes a table of contents without entries as "no data
 * here": the header that every data file begins with (icu/udata.h), format "CmnD", and a count of
 * 0. Built by .ci/dist with -DICU_DATA=icudtNN_dat. */
#include <stdint.h>

extern const struct icu_data ICU_DATA;
_Alignas(16) const struct icu_data {
    uint16_t header_bytes;
    uint8_t magic[2];
    uint16_t info_bytes, reserved;
    uint8_t big_endian, charset, bytes_of_uchar, reserved_byte;
    uint8_t format[4], format_version[4], data_version[4];
    uint8_t padding[8];
    uint32_t count, rest[3];
} ICU_DATA = {
    .header_bytes = 32,
    .magic = { 0xda, 0x27 },
    .info_bytes = 20,
    .bytes_of_uchar = 2,
    .format = "CmnD",
    .format_version = { 1 },
    .data_version = { 3 },
};
