/*
 * big_archive_write PATH: an .npz of more than 4 GiB, in steps that leave it whole each time: a stored array
 * of 4.5 GiB, one after it, both by one writer; then, by another one that goes on with the file, a deflated
 * array of as much, a mark, an array that is taken back, and a last one. tests/big/big_archives.py looks at
 * what comes of it.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/archive_write.h"
#include "unit_host.h"

enum { PIECE_NELEM = 1 << 20 };

static const int64_t BIG_NELEM = (int64_t)9 << 26;

static unit_host unit;
static npyx_error error;
static int64_t items[PIECE_NELEM];

static void must(npyx_status status) {
    if (status == NPYX_OK)
        return;
    fprintf(stderr, "%s\n", error.message);
    exit(1);
}

static void add(npyx_archive_writer *writer, const char *name, int64_t nelem, int level) {
    static const npyx_dtype int64 = {.type = NPYX_I8, .itemsize = 8};
    npyx_member member = {
        .name = name, .name_nbytes = strlen(name), .dtype = &int64, .ndim = 1, .shape = &nelem};
    must(npyx_archive_writer_begin(writer, &member, (npyx_zip_method){level >= 0, level}, &error));
    for (int64_t i = 0; i < nelem; i += PIECE_NELEM) {
        int64_t n = nelem - i < PIECE_NELEM ? nelem - i : PIECE_NELEM;
        items[0] = i / PIECE_NELEM;
        must(npyx_archive_writer_append(writer, items, n, &error));
    }
    must(npyx_archive_writer_end(writer, &error));
}

static void close_all(npyx_archive_writer *writer, npyx_sink *sink) {
    must(npyx_archive_writer_finish(writer, &error));
    must(npyx_sink_flush(sink, &error));
    npyx_archive_writer_close(writer);
    npyx_sink_close(sink);
}

int main(int argc, char **argv) {
    npyx_sink *sink = NULL;
    npyx_archive_writer *writer = NULL;
    npyx_archive_mark mark;
    struct stat found;
    int descriptor = argc == 2 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0666) : -1;
    if (descriptor < 0)
        return 2;
    unit_host_init(&unit);
    must(npyx_sink_open_file(&unit.host, descriptor, 0, &sink, &error));
    must(npyx_archive_writer_open(sink, NPYX_FORMAT_NPZ, &writer, &error));
    add(writer, "stored", BIG_NELEM, -1);
    add(writer, "after", 3, -1);
    close_all(writer, sink);
    if (fstat(descriptor, &found) != 0)
        return 2;
    must(npyx_sink_open_file(&unit.host, descriptor, found.st_size, &sink, &error));
    must(npyx_archive_writer_open(sink, NPYX_FORMAT_NPZ, &writer, &error));
    add(writer, "deflated", BIG_NELEM, 1);
    must(npyx_archive_writer_mark(writer, &mark, &error));
    add(writer, "taken back", 1000, 6);
    must(npyx_archive_writer_return(writer, &mark, &error));
    add(writer, "last", 5, 6);
    close_all(writer, sink);
    return close(descriptor) == 0 && unit.nblocks == 0 ? 0 : 3;
}
