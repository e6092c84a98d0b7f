/* The nodes that a pickle's machine makes of its bytes, on the account, and what they hold. */
#include <stdarg.h>
#include <stdio.h>

#include "pickle.h"

/* ---- errors ---- */

void npyx_pickle_set_error(const npyx_pickle *p, npyx_status status, const char *format, ...) {
    char what[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    const char *name = p->op_name;
    npyx_error_set(p->error, status, p->op_off, "%s the pickle at byte %" PRId64 ": %s%s%s",
                   status == NPYX_CORRUPT ? "a fault in" : "cannot read", p->op_off, name == NULL ? "" : name,
                   name == NULL ? "" : ": ", what);
    npyx_error_set_kind(p->error, NPYX_KIND_OBJECTS);
}

/* ---- the account ---- */

npyx_status npyx_pickle_overspent(npyx_pickle *p, npyx_status status) {
    if (status != NPYX_TOOBIG)
        return status;
    npyx_pickle_set_error(p, NPYX_UNSUPPORTED, "it grows to more than %" PRIu64 " bytes of items in so few",
                          p->budget->allowed_nbytes);
    npyx_error_set_kind(p->error, NPYX_KIND_LIMIT); /* like other limits of files */
    return NPYX_UNSUPPORTED;
}

void *npyx_pickle_alloc(npyx_pickle *p, uint64_t nbytes) {
    p->failed = npyx_pickle_spend(p, nbytes);
    if (p->failed != NPYX_OK)
        return NULL;
    void *block = nbytes > SIZE_MAX ? NULL : npyx_arena_alloc(p->arena, (size_t)nbytes);
    p->failed = npyx_check_memory(block, p->error);
    return block;
}

void *npyx_pickle_array(npyx_pickle *p, int64_t n, size_t item_nbytes) {
    size_t nbytes;
    return npyx_pickle_alloc(p, npyx_mul_size(n, item_nbytes, &nbytes) ? nbytes : UINT64_MAX / 2);
}

/* ---- nodes ---- */

npyx_status npyx_pickle_new(npyx_pickle *p, npyx_object_kind kind, npyx_object **object) {
    if (p->nspare == 0) { /* many at a time, more for a longer pickle */
        p->nspare_next = p->nspare_next < 8 ? 8 : p->nspare_next < 1024 ? 2 * p->nspare_next : 1024;
        p->spare = npyx_pickle_array(p, p->nspare_next, sizeof **object);
        NPYX_TRY(npyx_pickle_check(p, p->spare));
        p->nspare = p->nspare_next;
    }
    *object = p->spare++;
    p->nspare--;
    **object = (npyx_object){.kind = (uint8_t)kind};
    return NPYX_OK;
}

npyx_status npyx_pickle_new_bytes(npyx_pickle *p, npyx_object_kind kind, const void *bytes, size_t nbytes,
                                  npyx_object **object) {
    NPYX_TRY(npyx_pickle_new(p, kind, object));
    (*object)->text.bytes = bytes;
    (*object)->text.nbytes = nbytes;
    return NPYX_OK;
}

npyx_status npyx_pickle_new_ascii(npyx_pickle *p, const char *text, size_t nbytes, npyx_object **object) {
    char *copy = npyx_pickle_alloc(p, nbytes);
    NPYX_TRY(npyx_pickle_check(p, copy));
    memcpy(copy, text, nbytes);
    return npyx_pickle_new_bytes(p, NPYX_OBJECT_TEXT, copy, nbytes, object);
}

/* Python writes lone surrogates as if they were characters ("surrogatepass"). */
static size_t pickle_surrogate(const uint8_t *bytes, size_t nbytes) {
    return nbytes >= 3 && bytes[0] == 0xed && bytes[1] >= 0xa0 && bytes[1] <= 0xbf &&
                   (bytes[2] & 0xc0) == 0x80
               ? 3
               : 0;
}

static npyx_status pickle_replace_surrogates(npyx_pickle *p, const uint8_t *bytes, size_t nbytes,
                                             npyx_object **object) {
    char *copy = npyx_pickle_alloc(p, nbytes);
    NPYX_TRY(npyx_pickle_check(p, copy));
    for (size_t i = 0, n; i < nbytes; i += n) {
        NPYX_TRY(npyx_pickle_work(p, 1));
        n = npyx_utf8_character((const char *)bytes + i, nbytes - i);
        bool is_character = n > 0;
        if (!is_character && (n = pickle_surrogate(bytes + i, nbytes - i)) == 0)
            return npyx_pickle_fail(p, "a text that is not UTF-8");
        memcpy(copy + i, is_character ? (const char *)bytes + i : NPYX_UTF8_REPLACEMENT, n);
    }
    return npyx_pickle_new_bytes(p, NPYX_OBJECT_TEXT, copy, nbytes, object);
}

npyx_status npyx_pickle_new_text(npyx_pickle *p, const uint8_t *bytes, size_t nbytes, npyx_object **object) {
    if (npyx_utf8_is_valid((const char *)bytes, nbytes))
        return npyx_pickle_new_bytes(p, NPYX_OBJECT_TEXT, bytes, nbytes, object);
    return pickle_replace_surrogates(p, bytes, nbytes, object);
}

/* Room for n more parts. */
static npyx_status pickle_reserve(npyx_pickle *p, npyx_object *container, int64_t n) {
    uint64_t wanted = container->list.count + (uint64_t)n, capacity = 2 * (uint64_t)container->list.capacity;
    if (wanted <= container->list.capacity)
        return NPYX_OK;
    capacity = capacity < wanted ? wanted : capacity;
    capacity = capacity < 4 ? 4 : capacity;
    if (capacity > UINT32_MAX)
        return npyx_fail_nomem(p->error);
    npyx_object **items = npyx_pickle_array(p, (int64_t)capacity, sizeof(void *));
    NPYX_TRY(npyx_pickle_check(p, items));
    if (container->list.count > 0)
        memcpy(items, container->list.items, container->list.count * sizeof(void *));
    container->list.items = items;
    container->list.capacity = (uint32_t)capacity;
    return NPYX_OK;
}

npyx_status npyx_pickle_add_all(npyx_pickle *p, npyx_object *container, npyx_object *const *parts,
                                int64_t n) {
    NPYX_TRY(pickle_reserve(p, container, n));
    if (n > 0)
        memcpy(container->list.items + container->list.count, parts, (size_t)n * sizeof(void *));
    container->list.count += (uint32_t)n;
    return NPYX_OK;
}

npyx_status npyx_pickle_add(npyx_pickle *p, npyx_object *container, npyx_object *part) {
    return npyx_pickle_add_all(p, container, &part, 1);
}

bool npyx_pickle_bytes_of(const npyx_object *object, const uint8_t **bytes, size_t *nbytes) {
    if (object == NULL || (object->kind != NPYX_OBJECT_BYTES && object->kind != NPYX_OBJECT_TEXT))
        return false;
    *bytes = (const uint8_t *)object->text.bytes;
    *nbytes = object->text.nbytes;
    return true;
}

bool npyx_pickle_is_text(const npyx_object *object, const char *text) {
    const uint8_t *bytes;
    size_t nbytes;
    return npyx_pickle_bytes_of(object, &bytes, &nbytes) && nbytes == strlen(text) &&
           memcmp(bytes, text, nbytes) == 0;
}

bool npyx_pickle_is_global(const npyx_object *object, const char *name) {
    return object != NULL && object->kind == NPYX_OBJECT_GLOBAL && object->text.nbytes == strlen(name) &&
           memcmp(object->text.bytes, name, object->text.nbytes) == 0;
}

npyx_object *npyx_pickle_part(const npyx_object *object, uint32_t i) {
    bool has_parts =
        object != NULL && (object->kind == NPYX_OBJECT_TUPLE || object->kind == NPYX_OBJECT_LIST);
    return has_parts && i < object->list.count ? object->list.items[i] : NULL;
}

bool npyx_pickle_integer_of(const npyx_object *object, int64_t *integer) {
    if (object == NULL || (object->kind != NPYX_OBJECT_INTEGER && object->kind != NPYX_OBJECT_BOOL))
        return false;
    *integer = object->integer;
    return true;
}

/* ---- integers ---- */

/* The decimal digits of a magnitude of nwords 32-bit words, both lowest first; the words are used up. */
static size_t pickle_digits(uint32_t *words, size_t nwords, char *digits) {
    enum { BILLION = 1000000000 };
    size_t ndigits = 0;
    while (nwords > 0) {
        uint64_t remainder = 0;
        for (size_t i = nwords; i > 0; i--) {
            uint64_t word = remainder << 32 | words[i - 1];
            words[i - 1] = (uint32_t)(word / BILLION);
            remainder = word % BILLION;
        }
        while (nwords > 0 && words[nwords - 1] == 0)
            nwords--;
        for (int i = 0; i < 9 && (nwords > 0 || remainder > 0); i++, remainder /= 10)
            digits[ndigits++] = (char)('0' + remainder % 10);
    }
    return ndigits;
}

enum { PICKLE_VALUES_MAX_WORDS = NPYX_PICKLE_INTEGER_MOST_NBYTES / 4 };

npyx_status npyx_pickle_fail_digits(const npyx_pickle *p) {
    return npyx_pickle_fail_unsupported(p, "an integer of more than %d digits", NPYX_OBJECT_MAX_NDIGITS);
}

npyx_status npyx_pickle_new_integer(npyx_pickle *p, const uint8_t *bytes, size_t nbytes,
                                    npyx_object **object) {
    uint32_t words[PICKLE_VALUES_MAX_WORDS] = {0};
    char digits[PICKLE_VALUES_MAX_WORDS * 10 + 10], text[sizeof digits + 1];
    bool is_negative = nbytes > 0 && bytes[nbytes - 1] >= 0x80;
    while (nbytes > 1 && bytes[nbytes - 1] == (is_negative ? 0xff : 0) &&
           (bytes[nbytes - 2] >= 0x80) == is_negative)
        nbytes--;
    uint64_t low = is_negative ? UINT64_MAX : 0;
    for (size_t i = nbytes; i > 0; i--)
        low = low << 8 | bytes[i - 1];
    if (nbytes <= 8) {
        NPYX_TRY(npyx_pickle_new(p, NPYX_OBJECT_INTEGER, object));
        (*object)->integer = (int64_t)low;
        return NPYX_OK;
    }
    uint32_t carry = is_negative; /* of the two's complement */
    for (size_t i = 0; i < nbytes; i++) {
        uint32_t byte = (is_negative ? (uint8_t)~bytes[i] : bytes[i]) + carry;
        carry = byte >> 8;
        words[i / 4] |= (byte & 0xff) << i % 4 * 8;
    }
    size_t ndigits = pickle_digits(words, (nbytes + 3) / 4, digits), n = 0;
    if (ndigits > NPYX_OBJECT_MAX_NDIGITS)
        return npyx_pickle_fail_digits(p);
    if (is_negative)
        text[n++] = '-';
    while (ndigits > 0)
        text[n++] = digits[--ndigits];
    NPYX_TRY(npyx_pickle_new_ascii(p, text, n, object));
    (*object)->kind = NPYX_OBJECT_WIDE;
    return NPYX_OK;
}

npyx_status npyx_pickle_entry(npyx_pickle *p, const npyx_object *dict, const char *key,
                              const npyx_object **value) {
    if (dict->kind != NPYX_OBJECT_DICT)
        return NPYX_DONE;
    for (uint32_t i = dict->list.count; i > 0; i -= 2) {
        NPYX_TRY(npyx_pickle_work(p, sizeof(npyx_object)));
        if (npyx_pickle_is_text(dict->list.items[i - 2], key)) {
            *value = dict->list.items[i - 1];
            return NPYX_OK;
        }
    }
    return NPYX_DONE;
}
