/*
 * The globals that pickles name: what Python would import to load them. They are collected by the machine of
 * pickle.h, which imports nothing, where the opcodes GLOBAL, STACK_GLOBAL and INST run (CPython's
 * Lib/pickletools.py); what a pickle fetches from its memo is not named again.
 */
#ifndef NPYX_PICKLE_GLOBALS_H
#define NPYX_PICKLE_GLOBALS_H

#include "base/names.h"
#include "pickle.h"

typedef struct npyx_pickle_global {
    const char *module, *name; /* UTF-8, without a NUL; name: qualified, as in `ZoneInfo._unpickle` */
    size_t module_nbytes, name_nbytes;
    int64_t count; /* how often the pickle names it */
    bool is_known; /* it is read as data */
} npyx_pickle_global;

/* Those of one pickle, in the order in which it names them first. Zero-initialise with the host of
 * names.bytes and key set. */
typedef struct npyx_pickle_globals {
    npyx_name_set names; /* of each: module, point, name, and 8 bytes that say how long the module is */
    struct npyx_pickle_global_facts *facts;
    int64_t capacity_nfacts;
    npyx_buffer key;
} npyx_pickle_globals;

/* Collects those of the pickle at off of the source, instead of those that were there. *end_off is where the
 * pickle stops. Arrays that joblib writes between opcodes are not passed: for pickle.load they are opcodes.
 * On failure, which is npyx_pickle_read's or the source's, globals has those named before the fault. */
npyx_status npyx_pickle_globals_read(npyx_pickle_globals *globals, npyx_source *source, int64_t off,
                                     int64_t *end_off, npyx_error *error);

/* Number i, valid until the next pickle is read. */
npyx_pickle_global npyx_pickle_globals_at(const npyx_pickle_globals *globals, int64_t i);

/* Forgets them, but keeps the room. */
void npyx_pickle_globals_reset(npyx_pickle_globals *globals);
void npyx_pickle_globals_clear(npyx_pickle_globals *globals);

#endif
