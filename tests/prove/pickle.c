/* Pickles, opcode by opcode: src/format/pickle.c, pickle_bytes.c, pickle_values.c. */
#include <math.h>

#include "memory.h"

/* CBMC takes the compiler's for no constants. */
#undef INFINITY
#undef NAN
#define INFINITY (1e308 * 10)
#define NAN      (0.0 / 0.0)

#include "base/utf8.c"
#include "format/pickle.c"
#include "format/pickle_bytes.c"
#include "format/pickle_values.c"

/* What text/number_text.c does, as number.c says. */
size_t npyx_number_read(const char *text, size_t nbytes, npyx_number *number) {
    holds(nbytes == 0 || __CPROVER_r_ok(text, nbytes));
    *number = (npyx_number){.form = NPYX_NUMBER_I64, .is_integer = true, .i64 = nondet_i64()};
    return nondet_size_to(nbytes);
}
double npyx_number_to_f64(const npyx_number *number) {
    (void)number;
    return nondet_f64();
}

/* No call is made: what it becomes is any node. */
static npyx_object any_nodes[2];
npyx_status npyx_pickle_call(npyx_pickle *p, npyx_object *callable, npyx_object *args, npyx_object *kwargs,
                             npyx_object **object) {
    (void)p;
    holds(callable != NULL && args->kind == NPYX_OBJECT_TUPLE &&
          (kwargs == NULL || kwargs->kind == NPYX_OBJECT_DICT));
    *object = &any_nodes[1];
    return nondet_bool() ? NPYX_OK : NPYX_CORRUPT;
}
npyx_status npyx_pickle_build(npyx_pickle *p, npyx_object *object, npyx_object *state) {
    (void)p;
    holds(object != NULL && state != NULL);
    return nondet_bool() ? NPYX_OK : NPYX_CORRUPT;
}

/* The account has room. */
npyx_status npyx_budget_check(npyx_budget *budget, npyx_error *error) {
    (void)budget;
    return nondet_bool() ? NPYX_OK : npyx_fail(error, NPYX_TOOBIG, -1, "too much");
}

npyx_status npyx_grow(npyx_host *host, void *items, int64_t n, int64_t *capacity, size_t item_nbytes,
                      npyx_error *error) {
    (void)host, (void)items, (void)item_nbytes;
    holds(n >= 0 && n >= *capacity);
    return npyx_fail_nomem(error);
}

/* The file holds no more than what was read. */
npyx_status npyx_source_read(npyx_source *source, int64_t off, void *bytes, size_t nbytes,
                             size_t *read_nbytes, npyx_error *error) {
    (void)source, (void)off, (void)bytes, (void)error;
    *read_nbytes = nondet_size_to(nbytes);
    return NPYX_OK;
}

void npyx_pickle_set_error_briefly(const npyx_pickle *p, npyx_status status, const char *format, ...) {
    holds(format != NULL);
    npyx_error_set(p->error, status, p->op_off, "a fault");
}

/* All bytes of the file have been read. */
npyx_status nothing_more(npyx_pickle *p, uint64_t nbytes) {
    holds(p->next <= p->end);
    (void)nbytes;
    return NPYX_OK;
}

/* A text or a number of bytes that are there. */
npyx_status any_text(npyx_pickle *p, const uint8_t *bytes, size_t nbytes, npyx_object **object) {
    holds(nbytes == 0 || __CPROVER_r_ok(bytes, nbytes));
    return nondet_bool() ? npyx_pickle_new(p, NPYX_OBJECT_TEXT, object) : NPYX_CORRUPT;
}
npyx_status any_integer(npyx_pickle *p, const uint8_t *bytes, size_t nbytes, npyx_object **object) {
    holds(nbytes == 0 || __CPROVER_r_ok(bytes, nbytes));
    return nondet_bool() ? npyx_pickle_new(p, NPYX_OBJECT_INTEGER, object) : NPYX_CORRUPT;
}

enum { STACK = 4 };

/* A machine in any state: a stack of up to four nodes, marks in it that do not fall, and what is left of the
 * bytes. */
#define any_machine(p, most)                                                                                 \
    any_bytes(uint8_t, bytes, most);                                                                         \
    npyx_arena arena = {.host = &prove_host};                                                                \
    npyx_source source = {.host = &prove_host, .nbytes = (int64_t)bytes_nbytes};                             \
    npyx_budget budget = npyx_budget_of(&prove_host, UINT64_MAX / 2);                                        \
    npyx_object nodes[STACK], *stack[STACK], *memo[2] = {NULL, NULL}, spare[4];                              \
    int64_t marks[2] = {nondet_i64_from(0, STACK), nondet_i64_from(0, STACK)};                               \
    npyx_dtype objects = {0};                                                                                \
    npyx_error error;                                                                                        \
    for (int i = 0; i < STACK; i++) {                                                                        \
        nodes[i] = (npyx_object){.kind = nondet_u8() & 15};                                                  \
        assume(nodes[i].kind != NPYX_OBJECT_INSTANCE && nodes[i].kind != NPYX_OBJECT_ARRAY);                 \
        stack[i] = &nodes[i];                                                                                \
    }                                                                                                        \
    npyx_pickle p = {.arena = &arena, .budget = &budget, .source = &source, .error = &error};                \
    p.next = bytes;                                                                                          \
    p.end = bytes + bytes_nbytes;                                                                            \
    p.end_off = (int64_t)bytes_nbytes;                                                                       \
    p.stack = stack;                                                                                         \
    p.capacity_nstack = STACK;                                                                               \
    p.nstack = nondet_i64_from(0, STACK);                                                                    \
    p.marks = marks;                                                                                         \
    p.capacity_nmarks = 2;                                                                                   \
    p.nmarks = nondet_i64_from(0, 2);                                                                        \
    assume(marks[0] <= marks[1] && (p.nmarks == 0 || marks[p.nmarks - 1] <= p.nstack));                      \
    p.memo = memo;                                                                                           \
    p.capacity_nmemo = 2;                                                                                    \
    p.nmemo = nondet_i64_from(0, 2);                                                                         \
    p.nmemoized = nondet_i64_from(0, p.nmemo);                                                               \
    p.spare = spare;                                                                                         \
    p.nspare = 4;                                                                                            \
    p.none = p.truth[0] = p.truth[1] = p.persistent = &any_nodes[0];                                         \
    p.objects = &objects;                                                                                    \
    p.options.takes_ids = nondet_bool();                                                                     \
    npyx_status status

/* What any opcode leaves: heights of the stack and marks that fit each other, and a place in the bytes. */
#define holds_machine(p)                                                                                     \
    holds((p).nstack >= 0 && (p).nstack <= STACK && (p).nmarks >= 0 && (p).nmarks <= 2);                     \
    holds(pickle_fence(&(p)) <= (p).nstack && (p).nmemo >= 0 && (p).nmemo <= 2);                             \
    holds((p).next >= bytes && (p).next <= (p).end)

/*
 * Numbers of 1, 2, 4 and 8 bytes: BININT, BININT1, BININT2, BINFLOAT, PROTO, FRAME. None is read beyond the
 * end.
 *
 * Bound: 9 bytes, any stack of up to 4
 * Unwind: 10
 * Replaces: npyx_pickle_set_error by npyx_pickle_set_error_briefly
 * Replaces: npyx_pickle_fill by nothing_more
 * Planted: src/format/pickle_bytes.c: *bytes = p->next;\n => *bytes = p->next + 1;\n
 * Took: 35 s
 */
void prove_pickle_numbers(void) {
    any_machine(p, 9);
    switch (nondet_u8() & 7) {
    case 0: status = op_binint(&p); break;
    case 1: status = op_unsigned(&p, 1); break;
    case 2: status = op_unsigned(&p, 2); break;
    case 3: status = op_binfloat(&p); break;
    case 4: status = op_proto(&p); break;
    default: status = op_frame(&p); break;
    }
    holds_machine(p);
    reached(status == NPYX_OK && p.next == bytes + 8);
    reached(status == NPYX_OK && p.nstack > 0 && stack[p.nstack - 1]->integer == -2);
}

/*
 * Opcodes of the stack: NONE, NEWTRUE, MARK, POP, POP_MARK, DUP, STOP, BUILD, REDUCE, NEWOBJ_EX, BINPERSID.
 *
 * Bound: any stack of up to 4 nodes and 2 marks
 * Unwind: 6
 * Replaces: npyx_pickle_set_error by npyx_pickle_set_error_briefly
 * Planted: src/format/pickle.c: if (p->nstack - pickle_fence(p) < n) => if (p->nstack < n)
 * Took: 4 s, quick
 */
void prove_pickle_stack(void) {
    any_machine(p, 1);
    switch (nondet_u8() & 15) {
    case 0: status = op_none(&p); break;
    case 1: status = op_truth(&p, true); break;
    case 2: status = op_mark(&p); break;
    case 3: status = op_pop(&p); break;
    case 4: status = op_pop_mark(&p); break;
    case 5: status = op_dup(&p); break;
    case 6: status = op_build(&p); break;
    case 7: status = op_reduce(&p); break;
    case 8: status = op_newobj_ex(&p); break;
    default: status = op_binpersid(&p); break;
    }
    holds_machine(p);
    reached(status == NPYX_OK && p.nstack == 4);
    reached(status == NPYX_OK && p.nmarks == 2);
}

/*
 * Opcodes that gather values: TUPLE, LIST, DICT, FROZENSET, TUPLE1 to TUPLE3, EMPTY_LIST, and OBJ.
 *
 * Bound: any stack of up to 4 nodes and 2 marks
 * Unwind: 6
 * Replaces: npyx_pickle_set_error by npyx_pickle_set_error_briefly
 * Planted: src/format/pickle_values.c: (size_t)n * sizeof(void *)); => (size_t)n * sizeof(void *) + 8);
 * Took: 3 s, quick
 */
void prove_pickle_gather(void) {
    any_machine(p, 1);
    int kind = NPYX_OBJECT_LIST + (nondet_u8() & 3);
    switch (nondet_u8() & 3) {
    case 0: status = op_gather(&p, kind); break;
    case 1: status = op_tuple_of(&p, 1 + (int)nondet_size_to(2)); break;
    case 2: status = op_empty(&p, kind); break;
    default: status = op_obj(&p); break;
    }
    holds_machine(p);
    reached(status == NPYX_OK && stack[p.nstack - 1] == &spare[0] && spare[0].list.count == 4);
}

/*
 * Opcodes that add values to the node below them: APPEND, APPENDS, SETITEM, SETITEMS, ADDITEMS.
 *
 * Bound: any stack of up to 4 nodes and 2 marks, of containers empty ones
 * Unwind: 6
 * Replaces: npyx_pickle_set_error by npyx_pickle_set_error_briefly
 * Planted: src/format/pickle.c: if (p->nstack == pickle_fence(p)) => if (p->nstack == 0 && p->nmarks == 0)
 * Took: 7 s, quick
 */
void prove_pickle_add(void) {
    any_machine(p, 1);
    int kind = nondet_bool() ? NPYX_OBJECT_LIST : nondet_bool() ? NPYX_OBJECT_DICT : NPYX_OBJECT_SET;
    status = nondet_bool() ? op_add(&p, kind) : op_add_marked(&p, kind);
    holds_machine(p);
    reached(status == NPYX_OK && nodes[0].list.count == 3);
    reached(status == NPYX_OK && kind == NPYX_OBJECT_DICT && nodes[0].list.count == 2);
}

/*
 * Memo numbers: PUT, BINPUT, LONG_BINPUT, MEMOIZE, GET, BINGET, LONG_BINGET. One so large is refused before
 * there is room for it.
 *
 * Bound: 5 bytes, any stack and memo of up to 2
 * Unwind: 8
 * Replaces: npyx_pickle_set_error by npyx_pickle_set_error_briefly
 * Replaces: npyx_pickle_fill by nothing_more
 * Planted: src/format/pickle.c: if (number >= (uint64_t)p->nmemo || => if (number > (uint64_t)p->nmemo ||
 * Took: 7 s, quick
 */
void prove_pickle_memo(void) {
    any_machine(p, 5);
    static const int widths[] = {0, 1, 4, 0};
    int width = widths[nondet_u8() & 3];
    switch (nondet_u8() & 3) {
    case 0: status = op_put(&p, width); break;
    case 1: status = op_memoize(&p); break;
    default: status = op_get(&p, width); break;
    }
    holds_machine(p);
    reached(status == NPYX_OK && memo[1] == stack[0] && p.nmemo == 2);
    reached(status == NPYX_CORRUPT);
}

/*
 * Counted texts and bytes, and long integers: none is longer than the bytes that are left.
 *
 * Bound: 10 bytes, counts of 1, 4 and 8 bytes
 * Unwind: 12
 * Replaces: npyx_pickle_set_error by npyx_pickle_set_error_briefly
 * Replaces: npyx_pickle_fill by nothing_more
 * Replaces: npyx_pickle_new_text by any_text
 * Replaces: npyx_pickle_new_integer by any_integer
 * Planted: src/format/pickle_bytes.c: p->next += (size_t)nbytes; => p->next += (size_t)nbytes + 1;
 * Took: 7 s, quick
 */
void prove_pickle_counted(void) {
    any_machine(p, 10);
    static const int widths[] = {1, 4, 8, 4};
    int width = widths[nondet_u8() & 3];
    switch (nondet_u8() & 3) {
    case 0: status = op_counted_text(&p, width); break;
    case 1: status = op_counted_bytes(&p, width); break;
    case 2: status = op_counted_str(&p, width); break;
    default: status = op_counted_long(&p, width); break;
    }
    holds_machine(p);
    reached(status == NPYX_OK && p.next == bytes + 10 && width == 4);
    reached(status == NPYX_CORRUPT && width == 8);
}

/*
 * A line ends in the bytes, and is what is between: INT, LONG, FLOAT, GLOBAL.
 *
 * Bound: 4 bytes
 * Unwind: 8 npyx_span_begins.0:8
 * Replaces: npyx_pickle_set_error by npyx_pickle_set_error_briefly
 * Replaces: npyx_pickle_fill by nothing_more
 * Replaces: npyx_pickle_new_text by any_text
 * Planted: src/format/pickle.c: p->next = end + 1; => p->next = end + 2;
 * Took: 19 s
 */
void prove_pickle_lines(void) {
    any_machine(p, 4);
    switch (nondet_u8() & 3) {
    case 0: status = op_int(&p); break;
    case 1: status = op_long(&p); break;
    case 2: status = op_float(&p); break;
    default: status = op_global(&p); break;
    }
    holds_machine(p);
    reached(status == NPYX_OK && p.next == bytes + 4);
    reached(status == NPYX_OK && p.next == bytes + 4 && stack[p.nstack - 1]->integer == -12);
}

/*
 * STRING: a repr becomes no more bytes than it has.
 *
 * Bound: 5 bytes
 * Unwind: 7 strchr.0:12
 * Replaces: npyx_pickle_set_error by npyx_pickle_set_error_briefly
 * Replaces: npyx_pickle_fill by nothing_more
 * Planted: src/format/pickle.c: uint8_t *bytes = npyx_pickle_alloc(p, line_nbytes)
 *           => uint8_t *bytes = npyx_pickle_alloc(p, 1)
 * Took: 6 s, quick
 */
void prove_pickle_string(void) {
    any_machine(p, 5);
    status = op_string(&p);
    holds_machine(p);
    reached(status == NPYX_OK && stack[p.nstack - 1]->text.nbytes == 2);
}

/*
 * UNICODE: escapes become characters, and there is room for them.
 *
 * Bound: 7 bytes
 * Unwind: 10
 * Replaces: npyx_pickle_set_error by npyx_pickle_set_error_briefly
 * Replaces: npyx_pickle_fill by nothing_more
 * Planted: src/format/pickle.c: 2 * (uint64_t)line_nbytes + 4 => 1 * (uint64_t)line_nbytes
 * Took: 15 s
 */
void prove_pickle_unicode(void) {
    any_machine(p, 7);
    status = op_unicode(&p);
    holds_machine(p);
    reached(status == NPYX_OK && stack[p.nstack - 1]->text.nbytes == 3);
    reached(status == NPYX_OK && stack[p.nstack - 1]->text.nbytes == 12);
}

/* Up to 25 digits. */
size_t some_pickle_digits(uint32_t *words, size_t nwords, char *digits) {
    holds(nwords >= 2 && nwords <= PICKLE_VALUES_MAX_WORDS && (words[nwords - 1] != 0 || nwords > 2));
    for (int i = 0; i < 25; i++)
        digits[i] = '7';
    return 19 + nondet_size_to(6);
}

/*
 * A long integer of two's complement is its value up to 64 bits, and digits beyond.
 *
 * Bound: 10 bytes
 * Unwind: 30
 * Replaces: npyx_pickle_set_error by npyx_pickle_set_error_briefly
 * Replaces: pickle_digits by some_pickle_digits
 * Planted: src/format/pickle_values.c: (bytes[nbytes - 2] >= 0x80) == is_negative) => true)
 * Took: 7 s, quick
 */
void prove_pickle_integer(void) {
    any_machine(p, 10);
    npyx_object *made = NULL;
    status = npyx_pickle_new_integer(&p, bytes, bytes_nbytes, &made);
    if (status != NPYX_OK)
        return;
    uint64_t value = 0;
    for (size_t i = 0; i < 8; i++) {
        uint8_t sign = bytes_nbytes > 0 && bytes[bytes_nbytes - 1] >= 0x80 ? 0xff : 0;
        value |= (uint64_t)(i < bytes_nbytes ? bytes[i] : sign) << (8 * i);
    }
    holds(made->kind == NPYX_OBJECT_WIDE ||
          (made->kind == NPYX_OBJECT_INTEGER && made->integer == (int64_t)value));
    holds(made->kind == NPYX_OBJECT_INTEGER || bytes_nbytes > 8);
    bool is_negative = bytes_nbytes > 0 && bytes[bytes_nbytes - 1] >= 0x80;
    holds(made->kind != NPYX_OBJECT_INTEGER || (made->integer < 0) == is_negative);
    reached(made->kind == NPYX_OBJECT_INTEGER && bytes_nbytes == 10 && made->integer == -3);
    reached(made->kind == NPYX_OBJECT_WIDE);
}
