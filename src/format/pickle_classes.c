/* What well-known classes and functions would have made from their arguments. */

#include <math.h>
#include <stdio.h>

#include "base/wide_integer.h"
#include "pickle.h"
#include "text/pure_path.h"

/* Makes the value of a call, or returns NPYX_DONE for arguments of unknown form. */
typedef npyx_status class_call(npyx_pickle *p, const npyx_object *args, npyx_object **object);

static uint32_t class_nargs(const npyx_object *args) {
    return args->list.count;
}

/* ---- Python's own ---- */

/* set([...]) and frozenset([...]), as in protocols before 4. */
static npyx_status call_set(npyx_pickle *p, const npyx_object *args, npyx_object **object) {
    const npyx_object *list = npyx_pickle_part(args, 0);
    bool is_known = class_nargs(args) == 0 || (class_nargs(args) == 1 && list->kind == NPYX_OBJECT_LIST);
    if (!is_known)
        return NPYX_DONE;
    NPYX_TRY(npyx_pickle_new(p, NPYX_OBJECT_SET, object));
    return list == NULL ? NPYX_OK : npyx_pickle_add_all(p, *object, list->list.items, list->list.count);
}

/* OrderedDict(), to which items are added, and Python 2's OrderedDict([[key, value], ...]). */
static npyx_status call_ordered_dict(npyx_pickle *p, const npyx_object *args, npyx_object **object) {
    const npyx_object *pairs = npyx_pickle_part(args, 0);
    if (class_nargs(args) > 1 || (pairs != NULL && pairs->kind != NPYX_OBJECT_LIST))
        return NPYX_DONE;
    NPYX_TRY(npyx_pickle_new(p, NPYX_OBJECT_DICT, object));
    for (uint32_t i = 0; pairs != NULL && i < pairs->list.count; i++) {
        npyx_object *const pair = pairs->list.items[i], *key = npyx_pickle_part(pair, 0),
                           *value = npyx_pickle_part(pair, 1);
        if (value == NULL || pair->list.count != 2)
            return NPYX_DONE;
        NPYX_TRY(npyx_pickle_add(p, *object, key));
        NPYX_TRY(npyx_pickle_add(p, *object, value));
    }
    return NPYX_OK;
}

static bool class_real_of(const npyx_object *object, double *real) {
    int64_t integer;
    if (object != NULL && object->kind == NPYX_OBJECT_REAL)
        *real = object->real;
    else if (npyx_pickle_integer_of(object, &integer))
        *real = (double)integer;
    else
        return false;
    return true;
}

static npyx_status call_complex(npyx_pickle *p, const npyx_object *args, npyx_object **object) {
    double parts[2];
    if (class_nargs(args) != 2 || !class_real_of(npyx_pickle_part(args, 0), &parts[0]) ||
        !class_real_of(npyx_pickle_part(args, 1), &parts[1]))
        return NPYX_DONE;
    NPYX_TRY(npyx_pickle_new(p, NPYX_OBJECT_COMPLEX, object));
    memcpy((*object)->parts, parts, sizeof parts);
    return NPYX_OK;
}

/* Bytes as in protocols before 3: a text of as many characters. NPYX_DONE for characters above U+00FF. */
static npyx_status class_encode_latin1(npyx_pickle *p, const npyx_object *text, npyx_object **object) {
    uint8_t *bytes = npyx_pickle_alloc(p, text->text.nbytes);
    size_t nbytes = 0;
    NPYX_TRY(npyx_pickle_check(p, bytes));
    for (size_t i = 0; i < text->text.nbytes;) {
        NPYX_TRY(npyx_pickle_work(p, 1));
        size_t n = npyx_utf8_character(text->text.bytes + i, text->text.nbytes - i);
        uint32_t code_point = npyx_utf8_decode(text->text.bytes + i, n);
        if (code_point > 0xff)
            return NPYX_DONE;
        bytes[nbytes++] = (uint8_t)code_point;
        i += n;
    }
    return npyx_pickle_new_bytes(p, NPYX_OBJECT_BYTES, bytes, nbytes, object);
}

static npyx_status call_encode(npyx_pickle *p, const npyx_object *args, npyx_object **object) {
    const npyx_object *text = npyx_pickle_part(args, 0), *encoding = npyx_pickle_part(args, 1);
    bool is_latin1 = npyx_pickle_is_text(encoding, "latin1") || npyx_pickle_is_text(encoding, "latin-1");
    if (class_nargs(args) != 2 || text->kind != NPYX_OBJECT_TEXT || !is_latin1)
        return NPYX_DONE;
    return class_encode_latin1(p, text, object);
}

/* bytes(), bytearray(), bytearray(b'...'), and bytearray('...', 'latin-1'). */
static npyx_status call_bytes(npyx_pickle *p, const npyx_object *args, npyx_object **object) {
    const npyx_object *first = npyx_pickle_part(args, 0);
    if (class_nargs(args) == 0)
        return npyx_pickle_new_bytes(p, NPYX_OBJECT_BYTES, "", 0, object);
    if (class_nargs(args) == 1 && first->kind == NPYX_OBJECT_BYTES)
        return npyx_pickle_new_bytes(p, NPYX_OBJECT_BYTES, first->text.bytes, first->text.nbytes, object);
    return call_encode(p, args, object);
}

/* getattr(module.Class, 'name') becomes the name of what it would look up. */
static npyx_status call_getattr(npyx_pickle *p, const npyx_object *args, npyx_object **object) {
    const npyx_object *of = npyx_pickle_part(args, 0), *name = npyx_pickle_part(args, 1);
    if (class_nargs(args) != 2 || of->kind != NPYX_OBJECT_GLOBAL || name->kind != NPYX_OBJECT_TEXT)
        return NPYX_DONE;
    size_t nbytes = of->text.nbytes + 1 + name->text.nbytes;
    char *text = npyx_pickle_alloc(p, nbytes);
    NPYX_TRY(npyx_pickle_check(p, text));
    memcpy(text, of->text.bytes, of->text.nbytes);
    text[of->text.nbytes] = '.';
    memcpy(text + of->text.nbytes + 1, name->text.bytes, name->text.nbytes);
    return npyx_pickle_new_bytes(p, NPYX_OBJECT_GLOBAL, text, nbytes, object);
}

/* copyreg.__newobj__(class, *args). Of itself it would be called as deep as it has arguments. */
static npyx_status call_newobj(npyx_pickle *p, const npyx_object *args, npyx_object **object) {
    npyx_object *rest;
    if (class_nargs(args) == 0 || npyx_pickle_is_global(args->list.items[0], "copyreg.__newobj__") ||
        npyx_pickle_is_global(args->list.items[0], "copy_reg.__newobj__"))
        return NPYX_DONE;
    NPYX_TRY(npyx_pickle_new(p, NPYX_OBJECT_TUPLE, &rest));
    NPYX_TRY(npyx_pickle_add_all(p, rest, args->list.items + 1, (int64_t)class_nargs(args) - 1));
    return npyx_pickle_call(p, args->list.items[0], rest, NULL, object);
}

/* copyreg._reconstructor(class, base, state of the base): the base's own value, unless the base is object. */
static npyx_status call_reconstructor(npyx_pickle *p, const npyx_object *args, npyx_object **object) {
    npyx_object *of_base;
    if (class_nargs(args) != 3)
        return NPYX_DONE;
    NPYX_TRY(npyx_pickle_new(p, NPYX_OBJECT_TUPLE, &of_base));
    if (args->list.items[2]->kind != NPYX_OBJECT_NONE)
        NPYX_TRY(npyx_pickle_add(p, of_base, args->list.items[2]));
    return npyx_pickle_call(p, args->list.items[0], of_base, NULL, object);
}

/* ---- dates ---- */

enum { ZONE_UTC, ZONE_DATEUTIL_UTC, ZONE_OFFSET, ZONE_PYTZ, ZONE_NAMED, NZONES };
static const char *const class_zones[NZONES] = {
    [ZONE_UTC] = "pytz._UTC",
    [ZONE_DATEUTIL_UTC] = "dateutil.tz.tz.tzutc",
    [ZONE_OFFSET] = "datetime.timezone",
    [ZONE_PYTZ] = "pytz._p",
    [ZONE_NAMED] = "zoneinfo.ZoneInfo._unpickle",
};

/* Which of these a global is; NZONES: none. */
static int class_zone_kind(const npyx_object *global) {
    int kind = 0;
    while (kind < NZONES && !npyx_pickle_is_global(global, class_zones[kind]))
        kind++;
    return kind;
}

/* A time zone's offset from UTC, or its name. False for an unknown one. */
static bool class_zone(const npyx_object *zone, char *text, size_t capacity_nbytes) {
    const npyx_object *args;
    double seconds = 0;
    text[0] = '\0';
    if (zone == NULL)
        return true;
    if (zone->kind != NPYX_OBJECT_INSTANCE)
        return false;
    int kind = class_zone_kind(zone->instance->callable);
    args = zone->instance->args;
    bool is_utc = kind == ZONE_UTC || kind == ZONE_DATEUTIL_UTC;
    if (kind == ZONE_NAMED) {
        const npyx_object *name = npyx_pickle_part(args, 0);
        bool is_named = name != NULL && name->kind == NPYX_OBJECT_TEXT && name->text.nbytes < 60;
        if (is_named)
            snprintf(text, capacity_nbytes, "[%.*s]", (int)name->text.nbytes, name->text.bytes);
        return is_named;
    }
    bool is_offset = (kind == ZONE_OFFSET && class_real_of(npyx_pickle_part(args, 0), &seconds)) ||
                     (kind == ZONE_PYTZ && class_real_of(npyx_pickle_part(args, 1), &seconds));
    if (!is_utc && (!is_offset || !(fabs(seconds) < 86400)))
        return false;
    int64_t us = (int64_t)(seconds * 1e6 + (seconds < 0 ? -0.5 : 0.5)), magnitude = us < 0 ? -us : us;
    int whole = (int)(magnitude / 1000000), rest = (int)(magnitude % 1000000);
    int n = snprintf(text, capacity_nbytes, "%c%02d:%02d", us < 0 ? '-' : '+', whole / 3600, whole / 60 % 60);
    if (whole % 60 != 0 || rest != 0)
        n += snprintf(text + n, capacity_nbytes - (size_t)n, ":%02d", whole % 60);
    if (rest != 0)
        snprintf(text + n, capacity_nbytes - (size_t)n, ".%06d", rest);
    return true;
}

/* The bytes that a date or a time pickles, and the time zone after them. False for any other form. */
static bool class_date_bytes(const npyx_object *args, size_t expected_nbytes, const uint8_t **bytes,
                             char *zone, size_t zone_nbytes) {
    size_t nbytes = 0;
    return class_nargs(args) >= 1 && class_nargs(args) <= 2 &&
           npyx_pickle_bytes_of(args->list.items[0], bytes, &nbytes) && nbytes == expected_nbytes &&
           class_zone(npyx_pickle_part(args, 1), zone, zone_nbytes);
}

static bool class_write_date(const uint8_t *bytes, char *text, size_t capacity_nbytes) {
    int year = bytes[0] << 8 | bytes[1], month = bytes[2] & 0x7f, day = bytes[3]; /* 0x80: fold */
    snprintf(text, capacity_nbytes, "%04d-%02d-%02d", year, month, day);
    return year >= 1 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

static bool class_write_time(const uint8_t *bytes, char *text, size_t capacity_nbytes) {
    int hour = bytes[0] & 0x7f, us = bytes[3] << 16 | bytes[4] << 8 | bytes[5];
    int n = snprintf(text, capacity_nbytes, "%02d:%02d:%02d", hour, bytes[1], bytes[2]);
    if (us != 0)
        snprintf(text + n, capacity_nbytes - (size_t)n, ".%06d", us);
    return hour < 24 && bytes[1] < 60 && bytes[2] < 60 && us < 1000000;
}

/* Dates and times become their isoformat(). */
static npyx_status call_datetime(npyx_pickle *p, const npyx_object *args, npyx_object **object) {
    const uint8_t *bytes;
    char date[40], time[40], zone[80], text[sizeof date + sizeof time + sizeof zone];
    if (!class_date_bytes(args, 10, &bytes, zone, sizeof zone) ||
        !class_write_date(bytes, date, sizeof date) || (bytes[4] & 0x80) != 0 ||
        !class_write_time(bytes + 4, time, sizeof time))
        return NPYX_DONE;
    int n = snprintf(text, sizeof text, "%sT%s%s", date, time, zone);
    return npyx_pickle_new_ascii(p, text, (size_t)n, object);
}

static npyx_status call_date(npyx_pickle *p, const npyx_object *args, npyx_object **object) {
    const uint8_t *bytes;
    char text[40], zone[80];
    if (class_nargs(args) != 1 || !class_date_bytes(args, 4, &bytes, zone, sizeof zone) ||
        !class_write_date(bytes, text, sizeof text))
        return NPYX_DONE;
    return npyx_pickle_new_ascii(p, text, strlen(text), object);
}

static npyx_status call_time(npyx_pickle *p, const npyx_object *args, npyx_object **object) {
    const uint8_t *bytes;
    char time[40], zone[80], text[sizeof time + sizeof zone];
    if (!class_date_bytes(args, 6, &bytes, zone, sizeof zone) || !class_write_time(bytes, time, sizeof time))
        return NPYX_DONE;
    int n = snprintf(text, sizeof text, "%s%s", time, zone);
    return npyx_pickle_new_ascii(p, text, (size_t)n, object);
}

/* timedelta(days, seconds, microseconds) in seconds. */
static npyx_status call_timedelta(npyx_pickle *p, const npyx_object *args, npyx_object **object) {
    int64_t days, seconds, us;
    bool is_known = class_nargs(args) == 3 && npyx_pickle_integer_of(args->list.items[0], &days) &&
                    npyx_pickle_integer_of(args->list.items[1], &seconds) &&
                    npyx_pickle_integer_of(args->list.items[2], &us) && days >= -1000000000 &&
                    days <= 1000000000 && seconds >= 0 && seconds < 86400 && us >= 0 && us < 1000000;
    if (!is_known)
        return NPYX_DONE;
    int64_t whole = days * 86400 + seconds;
    NPYX_TRY(npyx_pickle_new(p, NPYX_OBJECT_REAL, object));
    /* microseconds are exact up to 285 years, and the quotient is then rounded once, as in Python */
    bool is_exact = whole > -9000000000 && whole < 9000000000;
    (*object)->real = is_exact ? (double)(whole * 1000000 + us) / 1e6 : (double)whole + (double)us / 1e6;
    return NPYX_OK;
}

/* ---- numbers and names ---- */

static npyx_status call_decimal(npyx_pickle *p, const npyx_object *args, npyx_object **object) {
    const npyx_object *text = npyx_pickle_part(args, 0);
    if (class_nargs(args) != 1 || text->kind != NPYX_OBJECT_TEXT)
        return NPYX_DONE;
    return npyx_pickle_new_bytes(p, NPYX_OBJECT_TEXT, text->text.bytes, text->text.nbytes, object);
}

/* The segments of a path: its parts, or, since Python 3.12, whatever it was made of. */
static npyx_status class_path(npyx_pickle *p, const npyx_object *args, bool is_windows,
                              npyx_object **object) {
    const uint32_t count = class_nargs(args);
    size_t nbytes = NPYX_PURE_PATH_EXTRA;
    npyx_span *segments = npyx_pickle_array(p, (int64_t)count + 1, sizeof segments[0]);
    NPYX_TRY(npyx_pickle_check(p, segments));
    for (uint32_t i = 0; i < count; i++) {
        const npyx_object *part = args->list.items[i];
        if (part->kind != NPYX_OBJECT_TEXT)
            return NPYX_DONE;
        segments[i] = (npyx_span){(const char *)part->text.bytes, part->text.nbytes};
        nbytes += part->text.nbytes + 1;
        if (nbytes >
            (uint64_t)(npyx_pickle_off(p) - p->begin_off) + NPYX_PURE_PATH_EXTRA) /* no path is so long */
            return NPYX_DONE;
    }
    char *text = npyx_pickle_alloc(p, nbytes);
    NPYX_TRY(npyx_pickle_check(p, text));
    size_t n = npyx_pure_path(is_windows, segments, count, text);
    return npyx_pickle_new_bytes(p, NPYX_OBJECT_TEXT, text, n, object);
}

static npyx_status call_posix_path(npyx_pickle *p, const npyx_object *args, npyx_object **object) {
    return class_path(p, args, false, object);
}

static npyx_status call_windows_path(npyx_pickle *p, const npyx_object *args, npyx_object **object) {
    return class_path(p, args, true, object);
}

/* An unsigned integer of up to 128 bits. */
static bool class_wide_of(const npyx_object *object, npyx_wide *wide) {
    *wide = npyx_wide_of_u64(0);
    if (object->kind == NPYX_OBJECT_INTEGER && object->integer >= 0)
        wide->low = (uint64_t)object->integer;
    else if (object->kind != NPYX_OBJECT_WIDE || object->text.nbytes > 39)
        return false;
    for (size_t i = 0; object->kind == NPYX_OBJECT_WIDE && i < object->text.nbytes; i++) {
        if (object->text.bytes[i] < '0' || object->text.bytes[i] > '9' || wide->high > UINT64_MAX / 10)
            return false;
        npyx_wide ten = npyx_wide_multiply(wide->low, 10);
        ten.high += wide->high * 10;
        *wide = npyx_wide_add(ten, npyx_wide_of_u64((uint64_t)(object->text.bytes[i] - '0')));
    }
    return true;
}

/* A UUID is made without arguments, and its number is its state. */
static npyx_status build_uuid(npyx_pickle *p, npyx_object *object, const npyx_object *state) {
    const npyx_object *integer;
    npyx_wide wide;
    char text[40];
    NPYX_TRY(npyx_pickle_entry(p, state, "int", &integer));
    if (!class_wide_of(integer, &wide))
        return NPYX_DONE;
    int n = snprintf(text, sizeof text, "%08" PRIx32 "-%04x-%04x-%04x-%012" PRIx64,
                     (uint32_t)(wide.high >> 32), (unsigned)(wide.high >> 16 & 0xffff),
                     (unsigned)(wide.high & 0xffff), (unsigned)(wide.low >> 48), wide.low & 0xffffffffffff);
    npyx_object *made;
    NPYX_TRY(npyx_pickle_new_ascii(p, text, (size_t)n, &made));
    *object = *made;
    return NPYX_OK;
}

/* ---- the tables ---- */

static const struct {
    const char *name;
    class_call *call;
} class_calls[] = {
    {"builtins.set", call_set},
    {"builtins.frozenset", call_set},
    {"builtins.complex", call_complex},
    {"builtins.bytes", call_bytes},
    {"builtins.bytearray", call_bytes},
    {"builtins.getattr", call_getattr},
    {"_codecs.encode", call_encode},
    {"collections.OrderedDict", call_ordered_dict},
    {"copyreg.__newobj__", call_newobj},
    {"copyreg._reconstructor", call_reconstructor},
    {"datetime.datetime", call_datetime},
    {"datetime.date", call_date},
    {"datetime.time", call_time},
    {"datetime.timedelta", call_timedelta},
    {"decimal.Decimal", call_decimal},
    {"pathlib.PosixPath", call_posix_path},
    {"pathlib.PurePosixPath", call_posix_path},
    {"pathlib.WindowsPath", call_windows_path},
    {"pathlib.PureWindowsPath", call_windows_path},
    {"numpy._core.multiarray.scalar", npyx_pickle_call_scalar},
    {"numpy._core.numeric._frombuffer", npyx_pickle_call_frombuffer},
    {"builtins.object", NULL}, /* these are arguments of others */
    {"numpy.ndarray", NULL},
    {"numpy.ma.core.MaskedArray", NULL},
    {"numpy.ma.MaskedArray", NULL},
};
enum { NCLASS_CALLS = sizeof class_calls / sizeof class_calls[0] };

static const struct {
    const char *name;
    npyx_status (*build)(npyx_pickle *p, npyx_object *object, const npyx_object *state);
} class_builds[] = {
    {"numpy._core.multiarray._reconstruct", npyx_pickle_build_array},
    {"numpy.ma.core._mareconstruct", npyx_pickle_build_masked},
    {"uuid.UUID", build_uuid},
    {"joblib.numpy_pickle.NumpyArrayWrapper", npyx_pickle_build_joblib},
};

/* Other versions' names for those in the tables, by their beginnings; the last one is Python 3.13's. */
static const char *const class_renamed[][2] = {{"__builtin__.", "builtins."},
                                               {"copy_reg.", "copyreg."},
                                               {"numpy.core.", "numpy._core."},
                                               {"pathlib._local.", "pathlib."}};

/* Whether a global is one of the tables', under any of its names. */
static bool class_is(const npyx_object *global, const char *name) {
    if (npyx_pickle_is_global(global, name))
        return true;
    for (size_t i = 0; i < sizeof class_renamed / sizeof class_renamed[0]; i++) {
        size_t old_nbytes = strlen(class_renamed[i][0]), new_nbytes = strlen(class_renamed[i][1]);
        bool may_be = strncmp(name, class_renamed[i][1], new_nbytes) == 0 &&
                      global->text.nbytes == strlen(name) - new_nbytes + old_nbytes;
        if (may_be && memcmp(global->text.bytes, class_renamed[i][0], old_nbytes) == 0 &&
            memcmp(global->text.bytes + old_nbytes, name + new_nbytes, strlen(name) - new_nbytes) == 0)
            return true;
    }
    return false;
}

/* The number of a callable in the table; NCLASS_CALLS: it is not there. */
static size_t class_call_number(const npyx_object *callable) {
    size_t i = 0;
    while (i < NCLASS_CALLS && !class_is(callable, class_calls[i].name))
        i++;
    return i;
}

static class_call *class_find_call(const npyx_object *callable) {
    size_t i = class_call_number(callable);
    return i < NCLASS_CALLS ? class_calls[i].call : NULL;
}

npyx_status npyx_pickle_call(npyx_pickle *p, npyx_object *callable, npyx_object *args, npyx_object *kwargs,
                             npyx_object **object) {
    bool has_kwargs = kwargs != NULL && kwargs->list.count > 0;
    class_call *call = callable->kind == NPYX_OBJECT_GLOBAL && !has_kwargs ? class_find_call(callable) : NULL;
    npyx_status status = call == NULL ? NPYX_DONE : call(p, args, object);
    if (status != NPYX_DONE)
        return status;
    NPYX_TRY(npyx_pickle_new(p, NPYX_OBJECT_INSTANCE, object));
    npyx_object_instance *instance = npyx_pickle_alloc(p, sizeof *instance);
    NPYX_TRY(npyx_pickle_check(p, instance));
    *instance =
        (npyx_object_instance){.callable = callable, .args = args, .kwargs = has_kwargs ? kwargs : NULL};
    (*object)->instance = instance;
    return NPYX_OK;
}

bool npyx_pickle_is_known_class(const npyx_object *global) {
    size_t number = class_call_number(global);
    if (number < NCLASS_CALLS)
        return class_calls[number].call != call_getattr;
    for (size_t i = 0; i < sizeof class_builds / sizeof class_builds[0]; i++) {
        if (class_is(global, class_builds[i].name))
            return true;
    }
    return class_zone_kind(global) < NZONES;
}

npyx_status npyx_pickle_build(npyx_pickle *p, npyx_object *object, npyx_object *state) {
    if (object->kind ==
        NPYX_OBJECT_DICT) /* an OrderedDict may have attributes, as a state_dict() of PyTorch has */
        return NPYX_OK;
    if (object->kind != NPYX_OBJECT_INSTANCE)
        return npyx_pickle_fail(p, "the object that it gives a state to takes none");
    npyx_object_instance *instance = object->instance;
    npyx_status status = NPYX_DONE;
    for (size_t i = 0; i < sizeof class_builds / sizeof class_builds[0] && status == NPYX_DONE; i++) {
        if (instance->callable->kind == NPYX_OBJECT_GLOBAL &&
            class_is(instance->callable, class_builds[i].name))
            status = class_builds[i].build(p, object, state);
    }
    if (status != NPYX_DONE)
        return status;
    instance->state = state;
    instance->dtype = NULL;
    return NPYX_OK;
}
