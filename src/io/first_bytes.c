#include "first_bytes.h"

#include <strings.h>

#include "base/host.h"

/* ---- formats that begin with a constant ---- */

typedef struct first_bytes_magic {
    size_t off;
    size_t nbytes;
    const char *bytes;
    const char *what;
} first_bytes_magic;

/* clang-format off */
#define MAGIC(off, text, what)                                                                               \
    { (off), sizeof(text) - 1, (text), (what) }
/* clang-format on */

static const first_bytes_magic magics[] = {
    MAGIC(0, "SQLite format 3\0", "an SQLite database"), /* sqlite.org/fileformat2.html, 1.3.1 */
    MAGIC(8, "DUCK", "a DuckDB database"),               /* duckdb.org, Storage Versions and Format */
    MAGIC(0, "\x89HDF\r\n\x1a\n", "an HDF5 file"),       /* HDF5 File Format Specification, II.A */
    MAGIC(0, "CDF\1", "a netCDF file"),                  /* netCDF Classic Format Specification */
    MAGIC(0, "CDF\2", "a netCDF file"),                  /* with 64-bit offsets */
    MAGIC(0, "CDF\5", "a netCDF file"),                  /* with 64-bit data */
    MAGIC(0, "PAR1", "a Parquet file"),                  /* parquet-format, README: File format */
    MAGIC(0, "ARROW1\0\0", "an Arrow file"),             /* Arrow Columnar Format: IPC File Format */
    MAGIC(0, "GGUF", "a GGUF file"),                     /* ggml, docs/gguf.md */
    MAGIC(0, "MATLAB 5.0 MAT-file", "a MATLAB file"), /* MAT-File Format (MathWorks): the descriptive text */
    MAGIC(0, "MATLAB 7.3 MAT-file", "a MATLAB file"), /* HDF5 after such a text */
    MAGIC(0, "SIMPLE  =", "a FITS file"),             /* FITS Standard 4.0, 4.4.1.1 */
    MAGIC(128, "DICM", "a DICOM file"),               /* DICOM PS3.10, 7.1 */
    MAGIC(344, "n+1\0", "a NIfTI file"),              /* nifti1.h: magic */
    MAGIC(0, "\x1f\x8b\x08", "gzip-compressed data"), /* RFC 1952, 2.3.1 */
    MAGIC(0, "\x28\xb5\x2f\xfd", "zstd-compressed data"), /* RFC 8878, 3.1.1 */
    MAGIC(0, "\3757zXZ\0", "xz-compressed data"),         /* The .xz File Format, 2.1.1.1 */
    MAGIC(0, "\4\"M\x18", "LZ4-compressed data"),         /* LZ4 Frame Format: Magic Number */
    MAGIC(0, "]\0\0?\0\xff\xff", "lzma-compressed data"), /* lzma-file-format.txt, 1.1, as Python writes it */
    MAGIC(0, "PK\3\4", "a zip archive"),                  /* APPNOTE 4.3.7 */
    MAGIC(0, "PK\5\6", "a zip archive"),                  /* APPNOTE 4.3.16: an empty one */
    MAGIC(0, "\x89PNG\r\n\x1a\n", "a PNG picture"),       /* RFC 2083, 3.1 */
    MAGIC(0, "\xff\xd8\xff", "a JPEG picture"),           /* ITU-T T.81, B.1.1.3: SOI and a marker */
    MAGIC(0, "RIFF????WAVE", "a WAVE sound"), /* RIFF (Microsoft and IBM, 1991): a chunk with a form type */
    MAGIC(0, "II*\0", "a TIFF picture"),      /* TIFF 6.0, section 2: Image File Header */
    MAGIC(0, "MM\0*", "a TIFF picture"), MAGIC(0, "%PDF-", "a PDF document"), /* ISO 32000-1, 7.5.2 */
    MAGIC(0, "\177ELF", "an ELF program or library"), /* System V ABI: ELF Identification */
    /* git-lfs, docs/spec.md: The Pointer */
    MAGIC(0, "version https://git-lfs", "a Git LFS pointer, not the file itself"),
    MAGIC(0, "/annex/objects/", "a git-annex pointer, not the file itself"), /* git-annex, pointer file */
    MAGIC(0, "#!", "a script"),                                              /* execve(2) */
};

/* Whether the bytes at off are these; a `?` matches any byte. */
static bool has(const uint8_t *head, size_t nbytes, size_t off, const char *bytes, size_t wanted_nbytes) {
    if (off + wanted_nbytes > nbytes)
        return false;
    size_t i = 0;
    while (i < wanted_nbytes && (bytes[i] == '?' || head[off + i] == (uint8_t)bytes[i]))
        i++;
    return i == wanted_nbytes;
}

bool npyx_begins_npy(const void *bytes, size_t nbytes) {
    return has(bytes, nbytes, 0, "\x93NUMPY", 6);
}

bool npyx_begins_ten(const void *bytes, size_t nbytes) {
    return has(bytes, nbytes, 0, "~TenBin~", 8);
}

bool npyx_begins_zip(const void *bytes, size_t nbytes) {
    return has(bytes, nbytes, 0, "PK\3\4", 4) || has(bytes, nbytes, 0, "PK\5\6", 4) ||
           has(bytes, nbytes, 0, "PK\6\6", 4);
}

bool npyx_begins_gzip(const void *bytes, size_t nbytes) {
    return has(bytes, nbytes, 0, "\x1f\x8b\x08", 3);
}

bool npyx_begins_gguf(const void *bytes, size_t nbytes) {
    return has(bytes, nbytes, 0, "GGUF", 4);
}

static const char *find_magic(const uint8_t *head, size_t nbytes) {
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++) {
        if (has(head, nbytes, magics[i].off, magics[i].bytes, magics[i].nbytes))
            return magics[i].what;
    }
    return NULL;
}

/* ---- formats with a rule ---- */

/* A number in a tar header: octal digits between blanks and NULs; -1 for anything else. */
static int64_t tar_number(const uint8_t *field, size_t nbytes) {
    size_t i = 0;
    int64_t number = 0;
    while (i < nbytes && field[i] == ' ')
        i++;
    size_t first = i;
    for (; i < nbytes && field[i] >= '0' && field[i] <= '7'; i++)
        number = number * 8 + (field[i] - '0');
    bool has_digits = i > first;
    while (i < nbytes && (field[i] == ' ' || field[i] == '\0'))
        i++;
    return has_digits && i == nbytes ? number : -1;
}

/* The sum of a block's bytes, eight at a time: 64 times 255 fits in 16 bits. */
static int64_t sum_of_block(const uint8_t *block) {
    const uint64_t every_other = 0x00ff00ff00ff00ff, halves = 0x0000ffff0000ffff;
    uint64_t even = 0, odd = 0;
    for (size_t i = 0; i < NPYX_TAR_BLOCK_NBYTES; i += 8) {
        uint64_t word;
        memcpy(&word, block + i, 8);
        even += word & every_other;
        odd += (word >> 8) & every_other;
    }
    even = (even & halves) + ((even >> 16) & halves) + (odd & halves) + ((odd >> 16) & halves);
    return (int64_t)((even & UINT32_MAX) + (even >> 32));
}

/* POSIX.1-2017, pax: ustar Interchange Format. `chksum` is the sum of the header's bytes, with its own
 * counted as blanks; old writers added them up as signed. The first tars had no magic, so the sum decides. */
bool npyx_is_tar_header(const uint8_t block[NPYX_TAR_BLOCK_NBYTES]) {
    enum { SUM_OFF = 148, SUM_NBYTES = 8 };
    int64_t sum = sum_of_block(block), stored = tar_number(block + SUM_OFF, SUM_NBYTES);
    for (size_t i = SUM_OFF; i < SUM_OFF + SUM_NBYTES; i++)
        sum += ' ' - block[i];
    if (stored < 0 || stored == sum)
        return stored >= 0;
    for (size_t i = 0; i < NPYX_TAR_BLOCK_NBYTES; i++) {
        bool is_counted = i < SUM_OFF || i >= SUM_OFF + SUM_NBYTES;
        sum -= is_counted && block[i] >= 0x80 ? 0x100 : 0;
    }
    return stored == sum;
}

bool npyx_begins_tar(const void *bytes, size_t nbytes) {
    return nbytes >= NPYX_TAR_BLOCK_NBYTES && *(const uint8_t *)bytes != '\0' && npyx_is_tar_header(bytes);
}

/* RFC 1950, 2.2: CM, CINFO and FCHECK; there is no FDICT. */
bool npyx_begins_zlib(const void *bytes, size_t nbytes) {
    return nbytes >= 2 && *(const uint8_t *)bytes == 0x78 && (((const uint8_t *)bytes)[1] & 0x20) == 0 &&
           npyx_load_u16(bytes, true) % 31 == 0;
}

/* pickletools.py of CPython: PROTO, then FRAME from protocol 4 on, or an opcode that can begin a value. */
bool npyx_begins_pickle(const void *bytes, size_t nbytes) {
    const uint8_t *head = bytes;
    static const char first_opcodes[] = "]})(cXKMJGNUTBC}\x88\x89\x8a\x8c\x8e\x8f\x96IS";
    if (nbytes < 4 || head[0] != 0x80 || head[1] < 2 || head[1] > 5)
        return false;
    bool is_framed = head[1] >= 4 && head[2] == 0x95;
    return is_framed ? nbytes >= 11 && npyx_load_u64(head + 3, false) < (uint64_t)1 << 40
                     : head[2] != '\0' && strchr(first_opcodes, head[2]) != NULL;
}

static bool first_bytes_is_blank(uint8_t byte) {
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static size_t first_bytes_skip_blanks(const uint8_t *head, size_t nbytes, size_t off) {
    while (off < nbytes && first_bytes_is_blank(head[off]))
        off++;
    return off;
}

/* safetensors, README: Format. The header's size, at most 100 MB, then JSON, with possible blanks around its
 * braces. */
bool npyx_begins_safetensors(const void *bytes, size_t nbytes) {
    const uint8_t *head = bytes;
    if (nbytes < 10 || npyx_load_u64(head, false) < 2 || npyx_load_u64(head, false) > 100000000)
        return false;
    size_t brace = first_bytes_skip_blanks(head, nbytes, 8);
    size_t next = first_bytes_skip_blanks(head, nbytes, brace + 1);
    return brace < nbytes && head[brace] == '{' && (next >= nbytes || head[next] == '"' || head[next] == '}');
}

/* torch/serialization.py, MAGIC_NUMBER: the first thing that torch.save pickled before it wrote zips, and
 * after the opcodes PROTO and, from protocol 4 on, FRAME. */
bool npyx_begins_torch(const void *bytes, size_t nbytes) {
    static const char number[] = "\x8a\x0al\xfc\x9c\x46\xf9\x20j\xa8P\x19";
    const uint8_t *head = bytes;
    if (nbytes < 2 || head[0] != 0x80)
        return false;
    return has(head, nbytes, head[1] < 4 ? 2 : 11, number, sizeof number - 1);
}

/* bzip2 1.0 compress.c: the block size, then a block's magic, which is pi, or the end's, its root. */
static bool is_bzip2(const uint8_t *head, size_t nbytes) {
    return has(head, nbytes, 0, "BZh", 3) && nbytes >= 10 && head[3] >= '1' && head[3] <= '9' &&
           (memcmp(head + 4, "1AY&SY", 6) == 0 || memcmp(head + 4, "\x17\x72\x45\x38\x50\x90", 6) == 0);
}

/* CPython, Lib/importlib/_bootstrap_external.py: a number and CR LF; from 3.7 on flags, PEP 552. */
static bool is_pyc(const uint8_t *head, size_t nbytes) {
    if (nbytes < 16 || head[2] != '\r' || head[3] != '\n')
        return false;
    unsigned number = npyx_load_u16(head, false);
    bool is_python3 = number >= 3000 && number < 5000;
    return number == 62211 || (is_python3 && (number < 3390 || npyx_load_u32(head + 4, false) < 4));
}

/* ---- texts ---- */

/* Whether word, in either case, is at off, which is at most nbytes. */
static bool has_word(const uint8_t *head, size_t nbytes, size_t off, const char *word) {
    return nbytes - off >= strlen(word) && strncasecmp((const char *)head + off, word, strlen(word)) == 0;
}

/* UTF-8 without control characters; the last character may be cut. A few bytes prove nothing. */
static bool first_bytes_is_text(const uint8_t *head, size_t nbytes) {
    enum { MIN_NBYTES = 8 };
    for (size_t i = 0; i < nbytes;) {
        size_t character_nbytes = npyx_utf8_character((const char *)head + i, nbytes - i);
        if (character_nbytes == 0)
            return nbytes == NPYX_LOOKALIKE_NBYTES && nbytes - i < 4 && head[i] >= 0xc2;
        if ((head[i] < ' ' && !first_bytes_is_blank(head[i])) || head[i] == 0x7f)
            return false;
        i += character_nbytes;
    }
    return nbytes >= MIN_NBYTES;
}

static const char *kind_of_text(const uint8_t *head, size_t nbytes) {
    size_t off = has(head, nbytes, 0, "\xef\xbb\xbf", 3) ? 3 : 0;
    off = first_bytes_skip_blanks(head, nbytes, off);
    if (has_word(head, nbytes, off, "<!doctype html") || has_word(head, nbytes, off, "<html"))
        return "an HTML page"; /* HTML Standard, 13.1 */
    if (!first_bytes_is_text(head, nbytes))
        return NULL;
    if (has_word(head, nbytes, off, "<?xml"))
        return "an XML document"; /* XML 1.0, 2.8: how object stores answer when they refuse */
    bool is_json = off < nbytes && (head[off] == '{' || head[off] == '['); /* RFC 8259, 2 */
    return is_json ? "JSON" : "plain text";
}

const char *npyx_lookalike(const uint8_t *head, size_t nbytes) {
    if (nbytes > NPYX_LOOKALIKE_NBYTES)
        nbytes = NPYX_LOOKALIKE_NBYTES;
    if (npyx_begins_tar(head, nbytes)) /* first: a tar begins with a name, which may be anything */
        return "a tar archive";
    const char *what = find_magic(head, nbytes);
    return what != NULL                            ? what
           : npyx_begins_torch(head, nbytes)       ? "a PyTorch file"
           : npyx_begins_pickle(head, nbytes)      ? "a Python pickle"
           : npyx_begins_safetensors(head, nbytes) ? "a safetensors file"
           : is_bzip2(head, nbytes)                ? "bzip2-compressed data"
           : is_pyc(head, nbytes)                  ? "a compiled Python file (.pyc)"
                                                   : kind_of_text(head, nbytes);
}

void npyx_first_bytes_text(const uint8_t *head, size_t nbytes, char text[NPYX_FIRST_BYTES_NBYTES]) {
    npyx_buffer buffer = npyx_buffer_over(text, NPYX_FIRST_BYTES_NBYTES);
    npyx_buffer_append_text(&buffer, nbytes == 1 ? "the byte" : "the bytes");
    for (size_t i = 0; i < nbytes && i < 4; i++)
        npyx_buffer_printf(&buffer, " %02X", head[i]);
    npyx_buffer_text(&buffer);
}
