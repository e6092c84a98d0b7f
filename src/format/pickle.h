/*
 * Pickles, read by a machine that builds values and calls nothing.
 *
 * A pickle is a program for a stack of values (Python's Lib/pickletools.py tells it opcode by opcode). Most
 * of its opcodes push a value or put some into a container. Three would have Python import and call things:
 * REDUCE and NEWOBJ call, BUILD sets the state of what was made. Here they make nodes that say what would
 * have been called, with what; those of a few well-known classes (a datetime, an array, ...) become their
 * value. There is no way from a name to code, so nothing that stands in a pickle can run.
 *
 * Memory and time follow the bytes present: all that is made of them is charged to one account
 * (base/budget.h), and memo numbers beyond the bytes read so far are refused. Opcodes of persistent ids, of
 * the extension registry and of out-of-band buffers refer to what is not in the file, and are errors.
 */
#ifndef NPYX_PICKLE_H
#define NPYX_PICKLE_H

#include "base/budget.h"
#include "item/object.h"

/* Reads the pickle that bytes begin with into the arena; nodes keep pointing to bytes, too. *object is what
 * it leaves, not measured; *pickle_nbytes, which may be NULL, where it stops. NPYX_CORRUPT for bytes that
 * break the rules, NPYX_UNSUPPORTED for what is not in the file, in no form that is known or more than the
 * account allows; the error names the opcode, and its offset is base_off more than the one in bytes. Polls
 * the host. */
npyx_status npyx_pickle_read(npyx_arena *arena, npyx_budget *budget, const uint8_t *bytes, size_t nbytes,
                             int64_t base_off, npyx_object **object, size_t *pickle_nbytes,
                             npyx_error *error);

#endif
