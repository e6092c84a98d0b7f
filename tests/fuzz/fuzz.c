#include "fuzz.h"

#include <signal.h>
#include <sys/time.h>
#include <time.h>

enum { HEAD_NBYTES = 16 };

void fuzz_fail(const char *file, int line, const char *condition, const char *message) {
    fprintf(stderr, "%s:%d: does not hold: %s%s%s\n", file, line, condition, message == NULL ? "" : ": ",
            message == NULL ? "" : message);
    abort();
}

/* ---- the limits of an input ---- */

enum { LOOK_INTERVAL_US = 20 * 1000, MIN_NLOOKS = 20 };

static const double input_seconds = 1, stop_seconds = 0.2; /* ten times what is promised, for sanitizers */

static volatile double begun_at; /* of the processor's time, which is the same on a busy machine */
static volatile double stopped_at;
static volatile int nlooks; /* a machine that was paused makes a second pass in one look */
static double patience = 1;
static void (*stop_input)(void *ctx);
static void *stop_ctx;

static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Now and then, while an input runs: where it is when it is late is what the stack shows. */
static void look_at_clock(int signal) {
    double now = processor_seconds();
    (void)signal;
    nlooks++;
    if (begun_at == 0 || now - begun_at <= input_seconds * patience || nlooks < MIN_NLOOKS)
        return;
    if (stop_input == NULL) {
        begun_at =
            0; /* or the next look, while the stack is printed, would fail again, and nothing be kept */
        fuzz_fail(__FILE__, __LINE__, "an input takes no more than a second", NULL);
    }
    if (stopped_at == 0)
        stopped_at = now;
    if (now - stopped_at > stop_seconds * patience) {
        begun_at = 0;
        fuzz_fail(__FILE__, __LINE__, "what is interrupted ends", NULL);
    }
    stop_input(stop_ctx); /* once more each time: what was about to begin takes no notice */
}

void fuzz_begin_clock(void (*stop)(void *ctx), void *ctx) {
    begun_at = 0; /* a look in between sees none that is half set */
    stopped_at = 0;
    nlooks = 0;
    stop_input = stop;
    stop_ctx = ctx;
    begun_at = processor_seconds();
}

bool fuzz_was_stopped(void) {
    return stopped_at != 0;
}

/* FUZZ_PATIENCE is how many times slower the machine is: emulators and valgrind take their time. */
static void start_looking(void) {
    const struct itimerval interval = {{0, LOOK_INTERVAL_US}, {0, LOOK_INTERVAL_US}};
    struct sigaction action = {.sa_handler = look_at_clock, .sa_flags = SA_RESTART};
    const char *wanted = getenv("FUZZ_PATIENCE");
    if (wanted != NULL)
        patience = atof(wanted);
    fuzz_require(sigaction(SIGPROF, &action, NULL) == 0 && setitimer(ITIMER_PROF, &interval, NULL) == 0);
}

#ifdef FUZZ_MUTATES
/* AddressSanitizer's account of all that the input has allocated, from whomever: what zlib takes, too. */
#include <sanitizer/allocator_interface.h>

static int64_t memory_nbytes; /* below 0 when it has freed more */

static void count_block(const volatile void *block, size_t nbytes) {
    (void)block;
    memory_nbytes += (int64_t)nbytes;
    if (begun_at != 0 && memory_nbytes > FUZZ_MEMORY_NBYTES)
        fuzz_fail(__FILE__, __LINE__, "an input takes no more than 256 MiB", NULL);
}

static void uncount_block(const volatile void *block) {
    if (block != NULL)
        memory_nbytes -= (int64_t)__sanitizer_get_allocated_size(block);
}

static void start_counting(void) {
    fuzz_require(__sanitizer_install_malloc_and_free_hooks(count_block, uncount_block) != 0);
}

static void begin_count(void) {
    memory_nbytes = 0;
}
#else
static void start_counting(void) {}

static void begin_count(void) {}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool has_begun;
    if (!has_begun) {
        has_begun = true;
        start_counting();
        start_looking();
    }
    begin_count();
    fuzz_begin_clock(NULL, NULL);
    fuzz_target(data, size);
    begun_at = 0;
    return 0;
}

/* ---- the host ---- */

/* The size of a block stands before it. */
static void *resize(void *ctx, void *block, size_t nbytes) {
    fuzz_host *fuzz = ctx;
    char *old = block == NULL ? NULL : (char *)block - HEAD_NBYTES;
    size_t old_nbytes = 0;
    if (old != NULL)
        memcpy(&old_nbytes, old, sizeof old_nbytes);
    if (nbytes == 0) {
        fuzz->nbytes -= old_nbytes;
        free(old);
        return NULL;
    }
    if (nbytes > fuzz->limit_nbytes - (fuzz->nbytes - old_nbytes))
        return NULL;
    char *made = malloc(HEAD_NBYTES + nbytes); /* always another place, so that a stale pointer shows */
    if (made == NULL)
        return NULL;
    memcpy(made, &nbytes, sizeof nbytes);
    if (old != NULL)
        memcpy(made + HEAD_NBYTES, old + HEAD_NBYTES, old_nbytes < nbytes ? old_nbytes : nbytes);
    free(old);
    fuzz->nbytes += nbytes - old_nbytes;
    if (fuzz->nbytes > fuzz->peak_nbytes)
        fuzz->peak_nbytes = fuzz->nbytes;
    return made + HEAD_NBYTES;
}

void fuzz_host_init(fuzz_host *fuzz) {
    *fuzz = (fuzz_host){.limit_nbytes = FUZZ_MEMORY_NBYTES};
    fuzz->host = (npyx_host){.ctx = fuzz, .resize = resize, .nthreads = 1};
}

void fuzz_host_check(const fuzz_host *fuzz, size_t input_nbytes, size_t factor) {
    enum { BASE_NBYTES = 4 << 20 }; /* windows of zlib, blocks of readers */
    fuzz_require(fuzz->nbytes == 0);
    fuzz_require(fuzz->peak_nbytes <= BASE_NBYTES + factor * input_nbytes);
}

void fuzz_host_check_archive(const fuzz_host *fuzz, size_t input_nbytes) {
    enum { BASE_NBYTES = 6000000 };
    fuzz_require(fuzz->nbytes == 0);
    fuzz_require(fuzz->peak_nbytes <= BASE_NBYTES + 4 * npyx_budget_allowance(input_nbytes));
}

uint8_t fuzz_take_byte(fuzz_input *input) {
    if (input->nbytes == 0)
        return 0;
    input->nbytes--;
    return *input->bytes++;
}

uint64_t fuzz_take_u64(fuzz_input *input) {
    uint64_t word = 0;
    for (int i = 0; i < 8; i++)
        word |= (uint64_t)fuzz_take_byte(input) << (8 * i);
    return word;
}

fuzz_input fuzz_take_text(fuzz_input *input) {
    size_t nbytes = fuzz_take_byte(input);
    fuzz_input text = {input->bytes, nbytes < input->nbytes ? nbytes : input->nbytes};
    input->bytes += text.nbytes;
    input->nbytes -= text.nbytes;
    return text;
}

char *fuzz_copy(const void *bytes, size_t nbytes) {
    char *copy = malloc(nbytes == 0 ? 1 : nbytes);
    fuzz_require(copy != NULL);
    if (nbytes > 0)
        memcpy(copy, bytes, nbytes);
    return copy;
}

bool fuzz_is_disguised(const npyx_dtype *dtype) {
    bool is_disguised = npyx_type_is_of_ml_dtypes(dtype->type) && dtype->type != NPYX_E5M2;
    for (int i = 0; i < dtype->nfields; i++)
        is_disguised = is_disguised || fuzz_is_disguised(dtype->fields[i].dtype);
    return is_disguised;
}
