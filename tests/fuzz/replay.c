/* Feeds files to a fuzz target: `replay FILE...`. Says which it is at, so that a crash has a name. */
#include "fuzz.h"

static int replay(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        return 1;
    }
    long nbytes = ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(nbytes > 0 ? (size_t)nbytes : 1);
    if (nbytes < 0 || bytes == NULL || fread(bytes, 1, (size_t)nbytes, file) != (size_t)nbytes) {
        perror(path);
        return 1;
    }
    fclose(file);
    printf("%s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(bytes, (size_t)nbytes);
    free(bytes);
    return 0;
}

int main(int argc, char **argv) {
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= replay(argv[i]);
    printf("%d files\n", argc - 1);
    return failed;
}
