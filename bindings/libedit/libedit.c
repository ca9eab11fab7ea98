/* libedit.c - line editing for the prompt, through libedit.
 *
 * Implements mc_edit_api. Holds: the editor, the history in memory and its file, the terminal
 * while a line is read, and SIGINT, SIGTERM, SIGHUP, SIGWINCH and SIGCONT for that time (the
 * program's own handlers would leave the terminal raw). Reading of bytes is ours, so that a
 * signal ends a line at once. History file: one line of input per line, newest last, private to
 * the user. Lines are appended as they are entered, so two prompts at once lose nothing; when a
 * prompt ends the file is rewritten without repeats. Input that begins with a space is not kept. */
#include "../../runtime/device/mc_backend.h"
#include "../../runtime/base/mc_def.h"
#include <errno.h>
#include <fcntl.h>
#include <histedit.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

enum { HISTORY_LINES = 5000, LIST_MAX = 200, STATUS_UNSUPPORTED = 9 };

static const int WATCHED[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT };
enum { N_WATCHED = sizeof WATCHED / sizeof *WATCHED };

static EditLine *editor;
static History *history_list;
static const char *current_prompt = "";
static char *line_text; /* the line last returned */
static char *history_file;
static const char *const *(*complete)(void *, const char *, int, int *);
static void *complete_arg;
static struct sigaction before[N_WATCHED];
static volatile sig_atomic_t ending, resized, continued;

static void on_signal(int sig)
{
    if (sig == SIGWINCH)
        resized = 1;
    else if (sig == SIGCONT)
        continued = 1;
    else
        ending = sig;
}

/* A signal that the program's starter ignores stays ignored. */
static void watch_signals(void)
{
    for (int i = 0; i < N_WATCHED; i++) {
        struct sigaction mine;
        memset(&mine, 0, sizeof mine);
        mine.sa_handler = on_signal;
        sigemptyset(&mine.sa_mask);
        sigaction(WATCHED[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN)
            sigaction(WATCHED[i], &mine, NULL);
    }
}

static void release_signals(void)
{
    for (int i = 0; i < N_WATCHED; i++)
        sigaction(WATCHED[i], &before[i], NULL);
}

static char *show_prompt(EditLine *e)
{
    (void)e;
    /* libedit's signature is not const; it only reads. */
    return (char *)(uintptr_t)current_prompt;
}

/* libedit's source of characters: 1 and a character, 0 at the end of input, -1 when the line is to
 * be given up. */
static int read_character(EditLine *e, wchar_t *out)
{
    mbstate_t state;
    memset(&state, 0, sizeof state);
    for (;;) {
        char byte;
        ssize_t n = ending ? -1 : read(STDIN_FILENO, &byte, 1);
        if (ending) {
            errno = EINTR;
            return -1;
        }
        if (n < 0 && errno == EINTR) {
            if (continued) {
                /* After Ctrl-Z and fg the shell has put its own modes back. */
                el_set(e, EL_PREP_TERM, 0);
                el_set(e, EL_PREP_TERM, 1);
            }
            if (resized)
                el_resize(e);
            if (resized || continued)
                el_set(e, EL_REFRESH);
            resized = continued = 0;
            continue;
        }
        if (n <= 0)
            return (int)n;
        size_t used = mbrtowc(out, &byte, 1, &state);
        if (used == (size_t)-1) {
            /* not text in this locale: drop the byte and start afresh */
            memset(&state, 0, sizeof state);
        } else if (used != (size_t)-2) {
            return 1;
        }
    }
}

/* ---- completion ---- */

static int terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

/* Characters on the screen, near enough for names: UTF-8 continuation bytes do not count. */
static int columns_of(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* Of a path only the last part is listed. */
static const char *short_name(const char *word)
{
    size_t n = strlen(word);
    for (size_t i = n; i-- > 0;) {
        if (word[i] == '/' && i + 1 < n)
            return word + i + 1;
    }
    return word;
}

/* Prints the words in columns, filled downwards as ls does. */
static void list_words(const char *const *words, int n)
{
    int shown = n < LIST_MAX ? n : LIST_MAX;
    int width = 1;
    for (int i = 0; i < shown; i++) {
        int w = columns_of(short_name(words[i]));
        width = w > width ? w : width;
    }
    width += 2;
    int across = terminal_columns() / width;
    across = across > 0 ? across : 1;
    int down = (shown + across - 1) / across;
    putchar('\n');
    for (int row = 0; row < down; row++) {
        for (int i = row; i < shown; i += down) {
            const char *name = short_name(words[i]);
            fputs(name, stdout);
            for (int pad = columns_of(name); i + down < shown && pad < width; pad++)
                putchar(' ');
        }
        putchar('\n');
    }
    if (shown < n)
        printf("... and %d more\n", n - shown);
    fflush(stdout);
}

/* Bytes that all words share at their beginning, never ending inside a character. */
static size_t common_prefix(const char *const *words)
{
    size_t n = strlen(words[0]);
    for (int i = 1; words[i]; i++) {
        size_t same = 0;
        while (same < n && words[i][same] == words[0][same])
            same++;
        n = same;
    }
    while (n > 0 && ((unsigned char)words[0][n] & 0xc0) == 0x80)
        n--;
    return n;
}

static unsigned char on_tab(EditLine *e, int key)
{
    (void)key;
    const LineInfo *info = el_line(e);
    size_t length = (size_t)(info->lastchar - info->buffer);
    int cursor = (int)(info->cursor - info->buffer);
    char *line = malloc(length + 1);
    if (!line)
        return CC_ERROR;
    memcpy(line, info->buffer, length);
    line[length] = '\0';

    unsigned char result = CC_ERROR;
    int start = cursor;
    int blank = strspn(line, " \t") >= (size_t)cursor;
    const char *const *words = NULL;
    if (complete && !blank)
        words = complete(complete_arg, line, cursor, &start);
    if (blank) {
        /* indentation of a line that goes on */
        result = el_insertstr(e, "  ") == 0 ? CC_REFRESH : CC_ERROR;
    } else if (words && words[0]) {
        int n = 0;
        while (words[n])
            n++;
        size_t typed = (size_t)(cursor - start);
        size_t shared = common_prefix(words);
        if (shared > typed) {
            char *rest = strndup(words[0] + typed, shared - typed);
            if (rest && el_insertstr(e, rest) == 0)
                result = CC_REFRESH;
            free(rest);
        } else if (n > 1) {
            list_words(words, n);
            result = CC_REDISPLAY;
        }
    }
    free(line);
    return result;
}

/* ---- history ---- */

static void remember(const char *line)
{
    HistEvent event;
    if (history_list)
        history(history_list, &event, H_ENTER, line);
}

/* Calls each() with every line of the file, oldest first. */
static void each_line(const char *path, void (*each)(const char *line, void *arg), void *arg)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    char *line = NULL;
    size_t room = 0;
    for (ssize_t n; (n = getline(&line, &room, file)) >= 0;) {
        if (n > 0 && line[n - 1] == '\n')
            line[n - 1] = '\0';
        if (line[0])
            each(line, arg);
    }
    free(line);
    fclose(file);
}

static void remember_line(const char *line, void *arg)
{
    (void)arg;
    remember(line);
}

static void edit_history_load(const char *path)
{
    free(history_file);
    history_file = strdup(path);
    each_line(path, remember_line, NULL);
}

static void edit_history_add(const char *line)
{
    if (line[0] == ' ' || line[0] == '\0')
        return;
    remember(line);
    if (!history_file)
        return;
    int fd = open(history_file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    /* One write, so that lines of two prompts do not mix. */
    size_t n = strlen(line);
    char *text = malloc(n + 1);
    if (text) {
        memcpy(text, line, n);
        text[n] = '\n';
        ssize_t wrote = write(fd, text, n + 1);
        (void)wrote; /* a history that cannot be kept is no reason to disturb the user */
        free(text);
    }
    close(fd);
}

typedef struct lines {
    char **at;
    size_t n, room;
} lines;

static void collect_line(const char *line, void *arg)
{
    lines *all = arg;
    if (all->n == all->room) {
        size_t room = all->room ? 2 * all->room : 256;
        char **at = realloc(all->at, room * sizeof *at);
        if (!at)
            return;
        all->at = at;
        all->room = room;
    }
    all->at[all->n] = strdup(line);
    all->n += all->at[all->n] != NULL;
}

static int by_text_then_age(const void *a, const void *b)
{
    const char *const *x = *(const char *const *const *)a;
    const char *const *y = *(const char *const *const *)b;
    int order = strcmp(*x, *y);
    return order ? order : (x < y ? -1 : x > y);
}

/* Frees all but the newest of equal lines. */
static void drop_repeats(lines *all)
{
    char ***order = malloc((all->n + 1) * sizeof *order);
    if (!order)
        return;
    for (size_t i = 0; i < all->n; i++)
        order[i] = &all->at[i];
    qsort(order, all->n, sizeof *order, by_text_then_age);
    char *next = NULL;
    for (size_t i = all->n; i-- > 0;) {
        char *line = *order[i];
        if (next && strcmp(line, next) == 0) {
            free(line);
            *order[i] = NULL;
        } else {
            next = line;
        }
    }
    free(order);
}

/* Rewrites the file without repeats, through a temporary name. */
static void edit_history_save(const char *path)
{
    lines all = { NULL, 0, 0 };
    each_line(path, collect_line, &all);
    drop_repeats(&all);
    size_t kept = 0;
    for (size_t i = 0; i < all.n; i++)
        kept += all.at[i] != NULL;

    size_t skip = kept > HISTORY_LINES ? kept - HISTORY_LINES : 0;
    size_t room = strlen(path) + 32;
    char *temporary = malloc(room);
    int fd = -1;
    if (temporary && all.n > 0) {
        snprintf(temporary, room, "%s.%ld", path, (long)getpid());
        fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    }
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file) {
        for (size_t i = 0; i < all.n; i++) {
            if (!all.at[i])
                continue;
            if (skip > 0)
                skip--;
            else
                fprintf(file, "%s\n", all.at[i]);
        }
        int bad = ferror(file);
        if (fclose(file) == 0 && !bad)
            rename(temporary, path);
        else
            unlink(temporary);
    } else if (fd >= 0) {
        close(fd);
        unlink(temporary);
    }
    for (size_t i = 0; i < all.n; i++)
        free(all.at[i]);
    free(all.at);
    free(temporary);
}

/* ---- the line ---- */

static const char *edit_readline(const char *prompt, int *interrupted)
{
    int n = 0;
    free(line_text);
    line_text = NULL;
    current_prompt = prompt;
    ending = resized = continued = 0;
    *interrupted = 0;
    watch_signals();
    /* Before the prompt: libedit itself changes the modes only afterwards, and what is typed in
     * between would be treated as in a plain terminal (a Ctrl-D would be lost). */
    el_set(editor, EL_PREP_TERM, 1);
    const char *line = el_gets(editor, &n);
    release_signals();
    if (ending || !line || n <= 0) {
        if (ending) {
            el_reset(editor);
            fputs("\n", stdout);
            fflush(stdout);
        }
        *interrupted = (int)ending;
        return NULL;
    }
    size_t length = (size_t)n;
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
        length--;
    line_text = strndup(line, length);
    return line_text;
}

static void edit_set_complete(const char *const *(*fn)(void *, const char *, int, int *), void *arg)
{
    complete = fn;
    complete_arg = arg;
}

static void edit_close(void)
{
    if (editor)
        el_end(editor);
    if (history_list)
        history_end(history_list);
    editor = NULL;
    history_list = NULL;
    free(line_text);
    free(history_file);
    line_text = history_file = NULL;
}

/* What people's fingers know and libedit's default map lacks. */
static void bind_keys(void)
{
    static const char *const KEYS[][2] = {
        { "^R", "em-inc-search-prev" },
        { "\\e[H", "ed-move-to-beg" },   { "\\eOH", "ed-move-to-beg" },
        { "\\e[1~", "ed-move-to-beg" },  { "\\e[F", "ed-move-to-end" },
        { "\\eOF", "ed-move-to-end" },   { "\\e[4~", "ed-move-to-end" },
        { "\\e[3~", "ed-delete-next-char" },
        { "\\e[1;5C", "em-next-word" },  { "\\e[1;5D", "ed-prev-word" },
        { "\\e[1;3C", "em-next-word" },  { "\\e[1;3D", "ed-prev-word" },
        { "^W", "ed-delete-prev-word" },
    };
    for (size_t i = 0; i < sizeof KEYS / sizeof *KEYS; i++)
        el_set(editor, EL_BIND, KEYS[i][0], KEYS[i][1], NULL);
    el_set(editor, EL_ADDFN, "mascon-complete", "complete the word at the cursor", on_tab);
    el_set(editor, EL_BIND, "^I", "mascon-complete", NULL);
}

/* Exported under the name that mc_backend.h fixes. */
MC_API int mc_plugin_open(const mc_host_api *host, void *api);

int mc_plugin_open(const mc_host_api *host, void *api)
{
    mc_edit_api *edit = api;
    if (edit->abi != MC_BACKEND_ABI || host->abi != MC_BACKEND_ABI)
        return host->error(STATUS_UNSUPPORTED,
                           "edit: the plug-in was built for another version; build again");
    /* Characters only; numbers keep the C locale, Lua relies on it. A bare C locale would refuse
     * all but ASCII. */
    if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0) {
        if (!setlocale(LC_CTYPE, "C.UTF-8"))
            setlocale(LC_CTYPE, "");
    }
    editor = el_init("mascon", stdin, stdout, stderr);
    history_list = history_init();
    if (!editor || !history_list) {
        edit_close();
        return host->error(STATUS_UNSUPPORTED,
                           "edit: libedit cannot use this terminal; set MASCON_EDIT=plain");
    }
    HistEvent event;
    history(history_list, &event, H_SETSIZE, (int)HISTORY_LINES);
    history(history_list, &event, H_SETUNIQUE, 1);
    el_set(editor, EL_EDITOR, "emacs");
    el_set(editor, EL_SIGNAL, 0);
    el_set(editor, EL_PROMPT, show_prompt);
    el_set(editor, EL_HIST, history, history_list);
    el_set(editor, EL_GETCFN, read_character);
    bind_keys();
    el_source(editor, NULL); /* the user's ~/.editrc has the last word */

    edit->name = "libedit";
    edit->readline = edit_readline;
    edit->history_load = edit_history_load;
    edit->history_add = edit_history_add;
    edit->history_save = edit_history_save;
    edit->set_complete = edit_set_complete;
    edit->close = edit_close;
    return 0;
}
