/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* scratch: files for one test program, in a folder of its own that goes away with it. */
#include "scratch.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static char folder[256];

/* Every path that was asked for, so that they all stay until the end. */
struct path {
    struct path *next;
    char text[512];
};

static struct path *paths;

static void require(bool holds, const char *what)
{
    if (holds) return;
    perror(what);
    exit(EXIT_FAILURE);
}

int scratch_create(void **state)
{
    (void)state;
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/tarn-bench-test-XXXXXX", parent ? parent : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

int scratch_destroy(void **state)
{
    (void)state;
    DIR *directory = opendir(folder);
    if (!directory) return -1;
    for (const struct dirent *entry; (entry = readdir(directory));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove(scratch_path(entry->d_name));
    closedir(directory);
    while (paths) {
        struct path *next = paths->next;
        free(paths);
        paths = next;
    }
    return rmdir(folder);
}

const char *scratch_path(const char *name)
{
    struct path *path = malloc(sizeof *path);
    require(path, "malloc");
    path->next = paths;
    paths = path;
    snprintf(path->text, sizeof path->text, "%s/%s", folder, name);
    return path->text;
}

const char *scratch_write(const char *name, const char *text, size_t length)
{
    const char *path = scratch_path(name);
    FILE *file = fopen(path, "wb");
    require(file, path);
    require(fwrite(text, 1, length, file) == length, path);
    require(fclose(file) == 0, path);
    return path;
}

const char *scratch_write_text(const char *name, const char *text)
{
    return scratch_write(name, text, strlen(text));
}

const char *scratch_write_gzip(const char *name, const char *text)
{
    const char *path = scratch_path(name);
    gzFile file = gzopen(path, "wb");
    require(file, path);
    require(gzputs(file, text) == (int)strlen(text), path);
    require(gzclose(file) == Z_OK, path);
    return path;
}

static size_t file_size(const char *path)
{
    struct stat status;
    require(stat(path, &status) == 0, path);
    return (size_t)status.st_size;
}

void scratch_cut(const char *path, size_t bytes)
{
    require(truncate(path, (off_t)(file_size(path) - bytes)) == 0, path);
}

void scratch_damage(const char *path, size_t bytes)
{
    FILE *file = fopen(path, "r+b");
    require(file, path);
    long place = (long)(file_size(path) - bytes);
    require(fseek(file, place, SEEK_SET) == 0, path);
    int byte = fgetc(file);
    require(byte != EOF && fseek(file, place, SEEK_SET) == 0, path);
    require(fputc(byte ^ 0x55, file) != EOF, path);
    require(fclose(file) == 0, path);
}

char *scratch_read(const char *path)
{
    size_t size = file_size(path);
    char *text = malloc(size + 1);
    FILE *file = fopen(path, "rb");
    require(text && file, path);
    require(fread(text, 1, size, file) == size, path);
    text[size] = '\0';
    fclose(file);
    return text;
}
