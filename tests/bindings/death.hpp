/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* death: what a child process says before it aborts. */
#ifndef TEST_DEATH_HPP
#define TEST_DEATH_HPP

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

/* Runs the function in a forked child, and returns what that wrote to standard error before it aborted; "" if it came to
 * its end. A pool of the parent's is none in the child: the function makes its own. */
template <class Function> std::string last_words_of(Function function)
{
    int ends[2];
    if (pipe(ends) != 0) return "no pipe";
    std::fflush(nullptr); /* the child does not print it again */
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        std::signal(SIGABRT, SIG_DFL);
        alarm(60);
        function();
        _exit(0);
    }
    close(ends[1]);
    std::string words;
    char part[512];
    for (ssize_t length; (length = read(ends[0], part, sizeof part)) > 0;)
        words.append(part, static_cast<size_t>(length));
    close(ends[0]);
    int ended = 0;
    waitpid(child, &ended, 0);
    return WIFSIGNALED(ended) && WTERMSIG(ended) == SIGABRT ? words : "";
}

#endif
