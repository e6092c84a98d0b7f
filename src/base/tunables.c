#include "tunables.h"

/* Only for the test build: the released one has constants. */
#ifdef NPYX_TUNED

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TUNABLE_VARIABLE(name, most, least) int name = most;
NPYX_TUNABLES(TUNABLE_VARIABLE)

#define TUNABLE_ROW(name, most, least) {#name, &name, most, least},
static const struct {
    const char *name;
    int *value;
    int most, least;
} tunables[] = {NPYX_TUNABLES(TUNABLE_ROW)};

enum { NTUNABLES = sizeof tunables / sizeof tunables[0], PREFIX_NBYTES = sizeof "NPYX_" - 1 };

/* First sizes, and the sizes they grow to. */
static int *const growing[][2] = {{&NPYX_FIRST_BLOCK_NBYTES, &NPYX_WORK_NBYTES},
                                  {&NPYX_FIRST_PANEL_NBYTES, &NPYX_MAX_PANEL_NBYTES},
                                  {&NPYX_FIRST_INPUT_NBYTES, &NPYX_INPUT_NBYTES},
                                  {&NPYX_EDIT_WINDOW_NBYTES, &NPYX_EDIT_WINDOWS_NBYTES}};

static void tunables_fail(const char *setting) {
    fprintf(stderr, "NPYEXT_TUNE: '%s' is no tunable with a value that it can have\n", setting);
    abort();
}

static void tunables_set(const char *setting) {
    const char *equals = strchr(setting, '=');
    size_t nbytes = equals == NULL ? strlen(setting) : (size_t)(equals - setting);
    bool is_all = equals == NULL && strcmp(setting, "least") == 0, is_found = is_all;
    for (int i = 0; i < NTUNABLES; i++) {
        const char *name = tunables[i].name + PREFIX_NBYTES;
        bool is_it = equals != NULL && strlen(name) == nbytes && strncasecmp(name, setting, nbytes) == 0;
        if (is_all || is_it)
            *tunables[i].value = is_all ? tunables[i].least : atoi(equals + 1);
        is_found = is_found || (is_it && *tunables[i].value >= tunables[i].least &&
                                *tunables[i].value <= tunables[i].most);
    }
    if (!is_found)
        tunables_fail(setting);
}

/* Runs before anything else in the library. */
__attribute__((constructor)) static void tunables_read(void) {
    const char *settings = getenv("NPYEXT_TUNE");
    char *copy = settings == NULL ? NULL : strdup(settings), *rest = NULL;
    for (char *setting = copy == NULL ? NULL : strtok_r(copy, ",", &rest); setting != NULL;
         setting = strtok_r(NULL, ",", &rest))
        tunables_set(setting);
    free(copy);
    for (size_t i = 0; i < sizeof growing / sizeof growing[0]; i++) {
        if (*growing[i][0] > *growing[i][1])
            *growing[i][0] = *growing[i][1];
    }
}

#else
typedef int npyx_no_tunables; /* C does not allow an empty file */
#endif
