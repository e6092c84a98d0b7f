/*
 * Pickles, read by a machine that builds values and calls nothing.
 *
 * A pickle is a program for a stack of values (Python's Lib/pickletools.py describes it opcode by opcode).
 * Most opcodes push a value or put some into a container. Three would make Python import and call things:
 * REDUCE and NEWOBJ call, BUILD sets the state of what was made. Here they create nodes that say what would
 * have been called, and with what; those of a few well-known classes (a datetime, an array, ...) become their
 * value. There is no way from a name to code, so nothing in a pickle can run.
 *
 * Memory and time are bounded by the bytes present: everything made from them is charged to one account
 * (base/host.h), and memo numbers beyond the bytes already read are refused. Opcodes for persistent ids,
 * the extension registry and out-of-band buffers refer to things outside the file, and are errors.
 */
#ifndef NPYX_PICKLE_H
#define NPYX_PICKLE_H

#include "base/host.h"
#include "item/object.h"

/* Reads the pickle at the start of bytes into the arena; nodes keep pointing to bytes, too. *object is its
 * result, not measured; *pickle_nbytes, which may be NULL, is where it stops. NPYX_CORRUPT for bytes that
 * break the rules, NPYX_UNSUPPORTED for things that are not in the file, have no known form or exceed the
 * account; the error names the opcode, and its offset is base_off more than the one in bytes. Polls the
 * host. */
npyx_status npyx_pickle_read(npyx_arena *arena, npyx_budget *budget, const uint8_t *bytes, size_t nbytes,
                             int64_t base_off, npyx_object **object, size_t *pickle_nbytes,
                             npyx_error *error);

#endif
