/* value.h - numbers that travel in a job, as their bits. */
#ifndef MCD_VALUE_H
#define MCD_VALUE_H

#define MCD_NUMBER_bool(v) ((uint8_t)(v)[0])
#define MCD_NUMBER_u8(v) ((uint8_t)(v)[0])
#define MCD_NUMBER_i8(v) ((int8_t)(v)[0])
#define MCD_NUMBER_i16(v) ((int16_t)(v)[0])
#define MCD_NUMBER_i32(v) ((int32_t)(v)[0])
#define MCD_NUMBER_i64(v) ((v)[0])
#define MCD_NUMBER_f16(v) ((uint16_t)(v)[0])
#define MCD_NUMBER_bf16(v) ((uint16_t)(v)[0])
#define MCD_NUMBER_f32(v) mck_from_bits_f32((uint32_t)(v)[0])
#define MCD_NUMBER_f64(v) mck_from_bits_f64((uint64_t)(v)[0])
#define MCD_NUMBER_c64(v)                             \
    mck_make_c64(mck_from_bits_f32((uint32_t)(v)[0]), \
                 mck_from_bits_f32((uint32_t)((uint64_t)(v)[0] >> 32)))
#define MCD_NUMBER_c128(v) \
    mck_make_c128(mck_from_bits_f64((uint64_t)(v)[0]), mck_from_bits_f64((uint64_t)(v)[1]))

#endif
