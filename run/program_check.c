/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* program_check: reads the head of the file as the kernel does, then its program headers. */
#include "program_check.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "../recorders/launch.h"

enum {
    HEAD_BYTES = 256,    /* the kernel looks for an interpreter in so many bytes of a script */
    INTERPRETERS_MAX = 5 /* of interpreters, in the kernel */
};

/* --- finding ------------------------------------------------------------------------------------------ */

static bool is_executable(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* Returns the path of a command from malloc. NULL: there is none that can be run. */
static char *find_command(const char *command)
{
    const char *folders = getenv("PATH");
    if (strchr(command, '/')) {
        return is_executable(command) ? tn_launch_text("%s", command) : NULL;
    }
    if (!folders) folders = "/bin:/usr/bin"; /* as execvp */
    for (const char *folder = folders;;) {
        int length = (int)strcspn(folder, ":");
        /* An empty folder is the current one. */
        char *path =
            tn_launch_text("%.*s/%s", length > 0 ? length : 1, length > 0 ? folder : ".", command);
        if (is_executable(path)) return path;
        free(path);
        if (folder[length] == '\0') return NULL;
        folder += length + 1;
    }
}

/* --- heads of files ----------------------------------------------------------------------------------- */

/* Reads the first bytes of a file into a buffer, which is zero after them; all of it if the file cannot be read. */
static void read_head(const char *path, char *head, size_t head_bytes)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, head, head_bytes) : -1;
    if (file >= 0) close(file);
    if (length < 0) length = 0;
    memset(head + length, 0, head_bytes - (size_t)length);
}

static bool is_elf(const char *head)
{
    return memcmp(head, ELFMAG, SELFMAG) == 0;
}

/* Returns the interpreter of a script from malloc. NULL: the file is no script. */
static char *interpreter_of(const char *head)
{
    if (head[0] != '#' || head[1] != '!') return NULL;
    const char *begin = head + 2 + strspn(head + 2, " \t");
    return tn_launch_text("%.*s", (int)strcspn(begin, " \t\n"), begin);
}

/* The class and the machine are at the same places in files of all classes. */
static bool has_same_machine(const char *head, const char *library_head)
{
    ElfW(Ehdr) program, library;
    memcpy(&program, head, sizeof program);
    memcpy(&library, library_head, sizeof library);
    return program.e_ident[EI_CLASS] == library.e_ident[EI_CLASS] &&
           program.e_ident[EI_DATA] == library.e_ident[EI_DATA] &&
           program.e_machine == library.e_machine;
}

/* Whether the kernel starts a program by a loader. A file that cannot be read may have one. */
static bool has_loader(const char *path)
{
    ElfW(Ehdr) head;
    ElfW(Phdr) part;
    bool is_read, is_found = false;
    FILE *file = fopen(path, "re");
    if (!file) return true;
    is_read = fread(&head, sizeof head, 1, file) == 1 && head.e_phentsize == sizeof part &&
              fseek(file, (long)head.e_phoff, SEEK_SET) == 0;
    for (int i = 0; is_read && i < head.e_phnum && !is_found; i++) {
        is_read = fread(&part, sizeof part, 1, file) == 1;
        is_found = is_read && part.p_type == PT_INTERP;
    }
    fclose(file);
    return is_found || !is_read;
}

/* --- rights ------------------------------------------------------------------------------------------- */

/* Whether the file gives a process the rights of another user or group, or of root in part. */
static bool gives_rights(const char *path)
{
    struct stat status;
    struct statvfs system;
    if (stat(path, &status) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return false;
    if (statvfs(path, &system) == 0 && (system.f_flag & ST_NOSUID)) return false;
    bool of_user = (status.st_mode & S_ISUID) && status.st_uid != getuid();
    /* Without the right to execute, the bit means a lock. */
    bool of_group =
        (status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP) && status.st_gid != getgid();
    bool of_root = getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
    return of_user || of_group || of_root;
}

/* --- the check ---------------------------------------------------------------------------------------- */

/* Returns why the library cannot be preloaded into a program, which is no script. NULL: it can. */
static const char *refusal_of(const char *path, const char *head, const char *library)
{
    char library_head[HEAD_BYTES];
    read_head(library, library_head, sizeof library_head);
    if (gives_rights(path))
        return "runs with other rights than yours, by setuid, setgid or capabilities, so the loader ignores "
               "LD_PRELOAD";
    if (!is_elf(head)) return NULL;
    if (!has_same_machine(head, library_head))
        return "is for another processor or word size than tarn's library";
    if (!has_loader(path)) return "is statically linked, so nothing can be preloaded into it";
    return NULL;
}

char *tn_program_check(const char *command, const char *library)
{
    char head[HEAD_BYTES];
    char *path = find_command(command), *refusal = NULL;
    for (int i = 0; path && i <= INTERPRETERS_MAX; i++) {
        read_head(path, head, sizeof head - 1);
        head[sizeof head - 1] = '\0';
        char *interpreter = interpreter_of(head);
        if (!interpreter) {
            const char *reason = refusal_of(path, head, library);
            if (reason && i == 0) refusal = tn_launch_text("%s %s", path, reason);
            if (reason && i > 0)
                refusal = tn_launch_text("%s is run by %s, which %s", command, path, reason);
            break;
        }
        free(path);
        path = interpreter;
    }
    free(path);
    return refusal;
}
