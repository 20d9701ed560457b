/*
 * Runs a fuzz target over the files named on the command line, or over all files of the folders
 * named there. Stands in for libFuzzer where that is not at hand, so that every compiler runs the
 * corpus. No input at all is a failure: it means the path is wrong.
 */
#include "base/buf.h"
#include "base/file.h"
#include "fuzz.h"
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#define INPUT_MAX ((size_t)4 << 20) /* bytes of one input */
#define PATH_TEXT_MAX ((size_t)4096)

static int run_file(const char *path)
{
    cleanup_buf struct buf input = BUF_INIT(INPUT_MAX);
    struct error err = ERROR_INIT;
    if (file_read(path, &input, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    /* Told first, so that the file is known when the target ends the process. */
    fprintf(stderr, "running %s\n", path);
    return LLVMFuzzerTestOneInput((const uint8_t *)input.p, input.n);
}

/* Runs the files of a folder; returns their number, or -1. */
static int run_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) {
        perror(path);
        return -1;
    }
    int count = 0;
    for (struct dirent *entry; count >= 0 && (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        cleanup_buf struct buf name = BUF_INIT(PATH_TEXT_MAX);
        buf_printf(&name, "%s/%s", path, entry->d_name);
        count = run_file(name.p) < 0 ? -1 : count + 1;
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv)
{
    int count = 0;
    for (int i = 1; i < argc; i++) {
        struct stat info;
        bool folder = stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode);
        int ran = folder ? run_folder(argv[i]) : run_file(argv[i]) + 1;
        if (ran <= 0) {
            fprintf(stderr, "%s: no input was run\n", argv[i]);
            return 1;
        }
        count += ran;
    }
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
