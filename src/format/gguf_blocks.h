/*
 * The types of GGUF's tensors (ggml.h, enum ggml_type), and a source that turns blocks of quantized items
 * into float32 as they are read.
 */
#ifndef NPYX_GGUF_BLOCKS_H
#define NPYX_GGUF_BLOCKS_H

#include "array/dtype.h"
#include "io/source.h"

typedef struct npyx_gguf_type {
    const char *name;     /* ggml's: `Q4_K` */
    int16_t block_nelem;  /* 0: unknown */
    int16_t block_nbytes; /* as stored */
    bool is_read;         /* otherwise the type is foreign */
    npyx_type type;       /* of the items, once they are no longer in blocks */
    void (*unpack)(const uint8_t *block, bool is_big_endian, float *items); /* NULL: stored as they are */
} npyx_gguf_type;

/* Of a number in a file. One that ggml does not know, or no longer, is called `type`, and has no blocks. */
const npyx_gguf_type *npyx_gguf_type_of(uint32_t number);

/* The items of the blocks in payload (owned from here on, closed on failure, too), as floats of the machine's
 * byte order. Blocks are read as they are needed. is_big_endian: their scales are. */
npyx_status npyx_gguf_blocks_open(npyx_source *payload, const npyx_gguf_type *type, bool is_big_endian,
                                  npyx_source **source, npyx_error *error);

#endif
