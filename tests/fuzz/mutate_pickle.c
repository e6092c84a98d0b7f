/*
 * Pickles that claim things, for libFuzzer: values put together from what pickle.c and its classes know, so
 * that shapes that nothing warrants, dtypes within dtypes, states of other classes, and parts that are shared
 * many times come together more often than by chance. The pieces are right each for itself; a part of them
 * gets what is meant for another.
 */
#include "mutate.h"

enum { MAX_DEPTH = 6, MAX_MEMO = 64 };

typedef struct composer {
    fuzz_bytes *out;
    int depth;
    uint32_t nmemo; /* MEMOIZE counts */
} composer;

static void compose_value(composer *c);
static void compose_dtype(composer *c);

static void opcode(composer *c, int code) {
    fuzz_append(c->out, &(uint8_t){(uint8_t)code}, 1);
}

#define opcodes(c, codes) fuzz_append((c)->out, codes, sizeof(codes) - 1)

static void memoize(composer *c) {
    opcode(c, 0x94);
    c->nmemo++;
}

/* ---- plain values ---- */

static void compose_integer(composer *c, int64_t number) {
    if (number >= 0 && number < 256) {
        opcode(c, 'K');
        fuzz_append_number(c->out, (uint64_t)number, 1);
    } else if (number >= INT32_MIN && number <= INT32_MAX) {
        opcode(c, 'J');
        fuzz_append_number(c->out, (uint64_t)number, 4);
    } else {
        opcodes(c, "\x8a\x08");
        fuzz_append_number(c->out, (uint64_t)number, 8);
    }
}

static void compose_text(composer *c, const char *text) {
    opcode(c, 0x8c);
    fuzz_append_number(c->out, strlen(text), 1);
    fuzz_append(c->out, text, strlen(text));
}

static void compose_zeros(composer *c, size_t nbytes) {
    opcode(c, 'B');
    fuzz_append_number(c->out, nbytes, 4);
    for (size_t i = 0; i < nbytes; i++)
        fuzz_append_number(c->out, fuzz_below(4) == 0 ? fuzz_below(256) : 0, 1);
}

static void compose_global(composer *c, const char *module, const char *name) {
    opcode(c, 'c');
    fuzz_append(c->out, module, strlen(module));
    opcode(c, '\n');
    fuzz_append(c->out, name, strlen(name));
    opcode(c, '\n');
}

static void compose_digits(composer *c, uint32_t nbytes) {
    opcode(c, 0x8b);
    fuzz_append_number(c->out, nbytes, 4);
    for (uint32_t i = 0; i < nbytes; i++)
        fuzz_append_number(c->out, fuzz_below(256), 1);
}

static int64_t any_size(void) {
    static const int64_t sizes[] = {
        0,         1, 2, 3, 7, 64, 65, 255, 4096, 1 << 20, INT32_MAX, (int64_t)1 << 32, (int64_t)1 << 62,
        INT64_MAX, -1};
    return sizes[fuzz_below(sizeof sizes / sizeof sizes[0])];
}

static void compose_plain(composer *c) {
    static const char *const texts[] = {"",         "a", "x", "latin1",     "<f4", "O8",
                                        "\xc3\xa9", "F", "C", "2026-01-02", "1.5", "NaN"};
    switch (fuzz_below(8)) {
    case 0: opcode(c, 'N'); break;
    case 1: opcode(c, 0x88 + (int)fuzz_below(2)); break;
    case 2: compose_integer(c, any_size()); break;
    case 3: compose_integer(c, fuzz_below(10)); break;
    case 4: compose_zeros(c, fuzz_below(20)); break;
    case 5:
        opcode(c, 'G');
        fuzz_append_number(c->out, (uint64_t)fuzz_below(1 << 24) << fuzz_below(41), 8);
        break;
    case 6: compose_digits(c, fuzz_below(100)); break;
    default: compose_text(c, texts[fuzz_below(sizeof texts / sizeof texts[0])]);
    }
}

/* ---- containers ---- */

static void compose_values(composer *c, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        compose_value(c);
}

/* Parts between MARK and what takes them; it is in its own memo before it has any. */
static void compose_container(composer *c) {
    static const uint8_t empty[] = {']', '}', 0x8f}, taking[] = {'e', 'u', 0x90};
    uint32_t kind = fuzz_below(5), n = fuzz_below(5);
    if (kind < 3) {
        opcode(c, empty[kind]);
        memoize(c);
        opcode(c, '(');
        compose_values(c, kind == 1 ? 2 * n : n);
        opcode(c, taking[kind]);
    } else {
        opcode(c, '(');
        compose_values(c, n);
        opcode(c, kind == 3 ? 't' : 0x91);
        memoize(c);
    }
}

static void compose_shared(composer *c) {
    uint32_t at =
        c->nmemo == 0 ? 0 : c->nmemo - 1 - fuzz_below(c->nmemo < 8 || fuzz_below(4) == 0 ? c->nmemo : 8);
    if (c->nmemo == 0) {
        compose_plain(c);
        return;
    }
    opcode(c, at < 256 ? 'h' : 'j');
    fuzz_append_number(c->out, at, at < 256 ? 1 : 4);
}

/* Each holds the one before twice or more: few bytes for many parts. */
static void compose_doubling(composer *c) {
    static const uint8_t taking[] = {'l', 't', 0x91, 'd'};
    uint32_t kind = fuzz_below(4), nlevels = 2 + fuzz_below(fuzz_below(3) == 0 ? 200 : 40),
             width = 2 + fuzz_below(4);
    compose_value(c);
    memoize(c);
    for (uint32_t level = 0; level < nlevels; level++) {
        uint32_t before = c->nmemo - 1;
        opcode(c, '0');
        opcode(c, '(');
        for (uint32_t i = 0; i < width + width % 2; i++) {
            opcode(c, 'j');
            fuzz_append_number(c->out, before, 4);
        }
        opcode(c, taking[fuzz_below(9) == 0 ? fuzz_below(4) : kind]);
        memoize(c);
    }
}

/* ---- NumPy's ---- */

static const char *core_name(void) {
    return fuzz_below(2) == 0 ? "numpy.core.multiarray" : "numpy._core.multiarray";
}

static void compose_shape(composer *c, int64_t nelem) {
    uint32_t ndim = fuzz_below(20) == 0 ? fuzz_below(70) : fuzz_below(4);
    opcode(c, '(');
    if (nelem >= 0 && fuzz_below(2) == 0)
        compose_integer(c, nelem);
    else
        for (uint32_t i = 0; i < ndim; i++)
            compose_integer(c, fuzz_below(3) == 0 ? any_size() : ndim > 4 ? 1 : fuzz_below(3));
    opcode(c, 't');
}

/* numpy.dtype(code, False, True), without a state. */
static void compose_dtype_call(composer *c, const char *code) {
    compose_global(c, "numpy", "dtype");
    if (fuzz_below(10) == 0)
        compose_global(c, fuzz_below(2) == 0 ? "numpy" : "ml_dtypes",
                       fuzz_below(2) == 0 ? "float32" : "bfloat16");
    else
        compose_text(c, code);
    opcodes(c, "\x89\x88\x87R");
    memoize(c);
}

/* ({}, ('s', 25, 1, 1)), the unit of a date. */
static void compose_unit(composer *c) {
    static const char *const units[] = {"D", "h", "s", "us", "as", "generic", "Y"};
    opcodes(c, "}(");
    compose_text(c, units[fuzz_below(sizeof units / sizeof units[0])]);
    compose_integer(c, fuzz_below(3) == 0 ? any_size() : 1);
    opcodes(c, "K\x01K\x01t\x86");
}

static void compose_plain_dtype(composer *c) {
    static const char *const codes[] = {"f8",  "i4", "O8",          "S0",          "V0",        "U1",
                                        "S3",  "V8", "b1",          "M8",          "m8",        "m8",
                                        "c16", "f2", "V2147483647", "S2147483647", "U536870911"};
    compose_dtype_call(c, codes[fuzz_below(sizeof codes / sizeof codes[0])]);
    if (fuzz_below(4) == 0)
        return;
    opcodes(c, "(K\x03U\x01");
    opcode(c, "<>|="[fuzz_below(4)]);
    opcodes(c, "NNN");
    compose_integer(c, fuzz_below(2) == 0 ? -1 : any_size());
    compose_integer(c, -1);
    opcode(c, 'K');
    fuzz_append_number(c->out, fuzz_below(64), 1);
    if (fuzz_below(3) == 0)
        compose_unit(c);
    opcodes(c, "tb");
}

/* One with fields, which may all be of one dtype, or a subarray. */
static void compose_struct_dtype(composer *c) {
    uint32_t nfields = fuzz_below(fuzz_below(8) == 0 ? 60 : 5), shared = fuzz_below(2);
    int64_t itemsize = fuzz_below(3) == 0 ? any_size() : 8 * nfields;
    compose_dtype_call(c, "V8");
    opcodes(c, "(K\x03U\x01|");
    if (fuzz_below(4) == 0) {
        compose_dtype(c);
        compose_shape(c, -1);
        opcode(c, 0x86);
        opcodes(c, "NN");
    } else {
        opcode(c, 'N');
        opcode(c, '(');
        for (uint32_t i = 0; i < nfields; i++)
            compose_text(c, (char[]){(char)('a' + i % 26), i < 26 ? '\0' : 'x', '\0'});
        opcodes(c, "t}(");
        for (uint32_t i = 0; i < nfields; i++) {
            compose_text(c, (char[]){(char)('a' + i % 26), i < 26 ? '\0' : 'x', '\0'});
            if (i > 0 && shared)
                compose_shared(c);
            else
                compose_dtype(c);
            compose_integer(c, fuzz_below(6) == 0 ? any_size() : 8 * i);
            opcode(c, 0x86);
        }
        opcode(c, 'u');
    }
    compose_integer(c, itemsize);
    compose_integer(c, 1);
    opcodes(c, "K\x10tb");
}

static void compose_dtype(composer *c) {
    if (fuzz_below(6) == 0)
        compose_shared(c);
    else if (++c->depth < MAX_DEPTH && fuzz_below(3) == 0)
        compose_struct_dtype(c);
    else
        compose_plain_dtype(c);
    c->depth--;
}

/* A list of tuples, the items of a dtype with fields. */
static void compose_rows(composer *c) {
    uint32_t nrows = fuzz_below(4), nfields = fuzz_below(5);
    opcodes(c, "](");
    for (uint32_t row = 0; row < nrows; row++) {
        opcode(c, '(');
        compose_values(c, nfields);
        opcode(c, 't');
    }
    opcode(c, 'e');
}

/* Items as bytes, few of them, or as a list. */
static void compose_items(composer *c) {
    switch (fuzz_below(7)) {
    case 0: compose_shared(c); break;
    case 1: compose_container(c); break;
    case 2: compose_zeros(c, 0); break;
    case 3: compose_zeros(c, 8); break;
    case 4:
    case 5: compose_rows(c); break;
    default:
        opcodes(c, "](");
        compose_values(c, fuzz_below(4));
        opcode(c, 'e');
    }
}

static void compose_array(composer *c) {
    bool is_masked = fuzz_below(4) == 0;
    compose_global(c, is_masked ? "numpy.ma.core" : core_name(),
                   is_masked ? "_mareconstruct" : "_reconstruct");
    compose_global(c, "numpy", "ndarray");
    opcodes(c, "K\x00\x85U\x01"
               "b\x87R");
    memoize(c);
    opcodes(c, "(K\x01");
    compose_shape(c, (int64_t)fuzz_below(4));
    compose_dtype(c);
    opcode(c, 0x88 + (int)fuzz_below(2));
    compose_items(c);
    if (is_masked) {
        compose_zeros(c, fuzz_below(5));
        opcode(c, 'N');
    }
    opcodes(c, "tb");
}

static void compose_array_call(composer *c) {
    bool is_scalar = fuzz_below(2) == 0;
    compose_global(c, is_scalar ? core_name() : "numpy._core.numeric", is_scalar ? "scalar" : "_frombuffer");
    opcode(c, '(');
    if (!is_scalar)
        compose_items(c);
    compose_dtype(c);
    if (is_scalar) {
        compose_items(c);
    } else {
        compose_shape(c, (int64_t)fuzz_below(4));
        compose_text(c, fuzz_below(2) == 0 ? "F" : "C");
    }
    opcodes(c, "tR");
    memoize(c);
}

/* ---- classes ---- */

static void compose_delta(composer *c) {
    compose_global(c, "datetime", "timedelta");
    opcode(c, '(');
    for (int i = 0; i < 3; i++)
        compose_integer(c, fuzz_below(4) == 0 ? any_size() : fuzz_below(100));
    opcodes(c, "tR");
    memoize(c);
}

/* uuid.UUID, which has a number of 128 bits for its state. */
static void compose_uuid(composer *c) {
    compose_global(c, "uuid", "UUID");
    opcodes(c, ")\x81}");
    compose_text(c, "int");
    compose_digits(c, 9 + fuzz_below(9));
    opcodes(c, "sb");
    memoize(c);
}

/* Calls, with arguments that need not be theirs, of which some get a state. */
static void compose_call(composer *c) {
    static const char *const names[][2] = {{"builtins", "set"},
                                           {"builtins", "frozenset"},
                                           {"builtins", "complex"},
                                           {"builtins", "bytearray"},
                                           {"builtins", "getattr"},
                                           {"_codecs", "encode"},
                                           {"collections", "OrderedDict"},
                                           {"copyreg", "__newobj__"},
                                           {"copyreg", "_reconstructor"},
                                           {"datetime", "datetime"},
                                           {"datetime", "date"},
                                           {"datetime", "time"},
                                           {"datetime", "timedelta"},
                                           {"decimal", "Decimal"},
                                           {"pathlib", "PurePosixPath"},
                                           {"pathlib", "PureWindowsPath"},
                                           {"datetime", "timezone"},
                                           {"pytz", "_p"},
                                           {"uuid", "UUID"},
                                           {"numpy.dtypes", "StringDType"},
                                           {"numpy", "dtype"},
                                           {"os", "system"},
                                           {"own", "Class"}};
    const char *const *name = names[fuzz_below(sizeof names / sizeof names[0])];
    compose_global(c, name[0], name[1]);
    if (fuzz_below(4) == 0)
        memoize(c);
    opcode(c, '(');
    compose_values(c, fuzz_below(5));
    opcode(c, 't');
    if (fuzz_below(6) == 0) {
        compose_container(c);
        opcode(c, 0x92);
    } else {
        opcode(c, fuzz_below(2) == 0 ? 'R' : 0x81);
    }
    memoize(c);
    if (fuzz_below(2) == 0) {
        compose_value(c);
        opcode(c, 'b');
    }
    if (fuzz_below(4) == 0) { /* parts of a subclass of list or dict */
        opcode(c, '(');
        compose_values(c, 2 * fuzz_below(3));
        opcode(c, "eu"[fuzz_below(2)]);
    }
}

static void compose_value(composer *c) {
    if (fuzz_below(MAX_DEPTH) < (uint32_t)c->depth++) {
        if (fuzz_below(2) == 0)
            compose_shared(c);
        else
            compose_plain(c);
    } else {
        switch (fuzz_below(14)) {
        case 0:
        case 1: compose_container(c); break;
        case 2: compose_shared(c); break;
        case 3:
        case 4: compose_array(c); break;
        case 5: compose_array_call(c); break;
        case 6:
        case 7: compose_call(c); break;
        case 8: compose_dtype(c); break;
        case 9: compose_doubling(c); break;
        case 10: compose_delta(c); break;
        case 11: compose_uuid(c); break;
        default: compose_plain(c);
        }
    }
    c->depth--;
}

/* ---- */

static void compose_list(composer *c) {
    opcodes(c, "\x80\x04](");
    c->nmemo = 0;
    compose_values(c, 1 + fuzz_below(4));
    opcodes(c, "e.");
}

/* What np.save pickles of an array of nelem objects. */
static void compose_objects(composer *c, int64_t nelem) {
    opcodes(c, "\x80\x04");
    compose_global(c, core_name(), "_reconstruct");
    compose_global(c, "numpy", "ndarray");
    opcodes(c, "K\x00\x85U\x01"
               "b\x87R");
    opcodes(c, "(K\x01");
    opcode(c, '(');
    compose_integer(c, fuzz_below(4) > 0 ? nelem : any_size());
    opcode(c, 't');
    compose_dtype_call(c, "O8");
    opcodes(c, "\x89](");
    compose_values(c, (uint32_t)(nelem >= 0 && nelem < 9 ? nelem : 3));
    opcodes(c, "etb.");
}

/* A value in front of an opcode, or what may be one, which takes it. */
static void compose_inside(composer *c, const uint8_t *data, size_t size) {
    size_t off = fuzz_below((uint32_t)size);
    c->nmemo = fuzz_below(20);
    fuzz_append(c->out, data, off);
    compose_value(c);
    static const char after[] = "a0bRs";
    opcode(c, after[fuzz_below(sizeof after - 1)]);
    fuzz_append(c->out, data + off, size - off);
}

size_t fuzz_mutate_pickle(uint8_t *data, size_t size, size_t capacity) {
    fuzz_bytes out = fuzz_new_bytes(capacity);
    composer c = {.out = &out};
    switch (fuzz_below(8)) {
    case 0: compose_list(&c); break;
    case 1: compose_objects(&c, (int64_t)fuzz_below(5)); break;
    case 2:
        if (size > 0)
            compose_inside(&c, data, size);
        break;
    default: free(out.at); return LLVMFuzzerMutate(data, size, capacity);
    }
    memcpy(data, out.at, out.nbytes);
    free(out.at);
    return out.nbytes;
}
