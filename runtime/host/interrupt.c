/* interrupt.c - signals become Lua errors, also inside compiled loops.
 *
 * SIGINT, SIGTERM, SIGHUP and a SIGPIPE that concerns standard output set the library's cancel flag
 * and a debug hook that raises an error at the next instruction of the interpreter. That is all
 * there is to it until LuaJIT has compiled the loop that should stop: compiled code never looks at
 * hooks (measured: `while true do end` runs on for ever, and LuaJIT's own profiler, the only poll
 * that an unmodified LuaJIT can put into its code, misses loops written on one line).
 *
 * The way out of compiled code is described further down. It costs nothing until somebody presses
 * Ctrl-C.
 *
 * Holds: dispositions of the signals above, of SIGURG (the tick; chosen because strays are
 * ignored by default) and, while it steps, of SIGTRAP. Handlers call only async-signal-safe
 * functions and lua_sethook, which LuaJIT's own program also calls from its handler. Other
 * processors than x86-64 have the hook, the cancel flag and the end by a further signal. */
#include "host.h"
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    TICK_MS = 20,
    STEP_BUDGET = 20000,   /* instructions of one try */
    /* Compiled instructions, or turns of a loop, without a guard after which the loop counts as
     * guardless. Hash chains are walked in inner loops without guards: a few turns. */
    GUARDLESS_STEPS = 4000,
    GUARDLESS_TURNS = 64,
    DEAF_SECONDS = 2,       /* the next signal after one that nothing answered ends the process */
    PATIENT_TICKS = 5,      /* ticks outside of compiled code before stepping starts there */
    MOST_PATIENT = 300,
    MAX_RANGES = 64,
    LOADING_COUNT = 100 /* instructions between two looks at a module that is being loaded */
};

static lua_State *state;
static pthread_t main_thread;
static timer_t ticker;
static int have_ticker;
static volatile sig_atomic_t pending; /* signal whose error is still to be raised */
static volatile sig_atomic_t caught;  /* signal whose error was raised in this run */
static volatile sig_atomic_t presses; /* SIGINT and SIGTERM in this run */
static volatile sig_atomic_t insists; /* signal whose error is raised until protected() returns */
static volatile sig_atomic_t loading; /* the hook saw a module of the library being loaded */
static const char *own_folders[2];    /* "@folder/" of the modules of the library */
static size_t own_lengths[2];
static int protecting;                /* calls of protected() that run */
static volatile sig_atomic_t holding; /* calls of held() that run */
static int prompting;                 /* the prompt begins runs: what it holds is to outlive them */
static struct timespec first_press;
static void (*cancel_request)(void);
static void (*cancel_clear)(void);
static int (*library_works)(void);

static const char *signal_word(int sig)
{
    switch (sig) {
    case SIGINT: return "interrupted";
    case SIGPIPE: return "broken pipe";
    default: return "terminated";
    }
}

static void tick(int on)
{
    struct itimerspec when;
    memset(&when, 0, sizeof when);
    if (on)
        when.it_value.tv_nsec = when.it_interval.tv_nsec = TICK_MS * 1000000L;
    if (have_ticker)
        timer_settime(ticker, 0, &when, NULL);
}

/* Whether require is loading a module of the library: an error would leave the module half made,
 * and every later require of it would fail ("loop or previous error loading module"). */
static int loads_library(lua_State *L)
{
    lua_Debug frame;
    for (int level = 0; lua_getstack(L, level, &frame); level++) {
        if (!lua_getinfo(L, "S", &frame) || *frame.what != 'm')
            continue;
        for (int i = 0; i < 2; i++)
            if (own_folders[i] && strncmp(frame.source, own_folders[i], own_lengths[i]) == 0)
                return 1;
    }
    return 0;
}

/* Whether a signal waits for the end of held(): the first one, so that a second one ends it. */
static int waits(int sig)
{
    return holding && presses < 2 && sig != SIGPIPE;
}

/* Runs as the hook, that is between two instructions of the interpreter. The error of a first
 * signal is an ordinary one, which a script may catch. That of a second signal of the same run is
 * raised again after each pcall that catches it, until protected() returns. */
static void raise_pending(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    int sig = pending ? pending : insists;
    if (sig && waits(sig)) { /* it came just before held() */
        lua_sethook(L, NULL, 0, 0);
        tick(0);
        if (cancel_clear)
            cancel_clear();
        return;
    }
    if (sig && presses < 2 && loads_library(L)) {
        loading = 1;
        if (cancel_clear)
            cancel_clear();
        lua_sethook(L, raise_pending, LUA_MASKCOUNT, LOADING_COUNT);
        return;
    }
    if (protecting && presses >= 2)
        insists = sig;
    else
        lua_sethook(L, NULL, 0, 0);
    if (!sig)
        return;
    pending = 0;
    caught = sig;
    tick(0);
    if (cancel_clear)
        cancel_clear(); /* the error is on its way; a script that catches it may use the library */
    lua_pushstring(L, signal_word(sig)); /* no place: the report knows the script's own line */
    lua_error(L);
}

static void set_hook(void)
{
    if (state)
        lua_sethook(state, raise_pending, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
}

#if defined(__x86_64__)

/* Out of compiled code.
 *
 * Compiled code is full of guards: a conditional jump to an exit stub, taken when an assumption
 * fails. Everything the interpreter needs is restorable at each guard, whatever made the jump be
 * taken. So, if the hook has not fired 20 ms after the signal, the main thread is single-stepped
 * (trap flag) until it stands before a guard, and then the guard is taken. The interpreter goes on,
 * finds the hook, raises the error. A loop without any guard can never end by itself, and its trace
 * is a root trace; exit 0 of a root trace restores nothing but the frame in which the loop began,
 * so that exit is taken instead; only the error is seen after it, no instruction runs. Stepping
 * (measured: 19 microseconds an instruction in a virtual machine) ends after STEP_BUDGET, to be
 * tried again at the next tick. */
#define CAN_BREAK 1

static struct {
    uintptr_t begin, end;
} ranges[MAX_RANGES]; /* executable memory that belongs to no file: LuaJIT's machine code */
static int n_ranges;
static struct sigaction trap_before;
static volatile sig_atomic_t stepping;
static int steps, compiled_steps, turns, ticks_outside, patience;
static uintptr_t turn_mark;

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One line of /proc/self/maps: `begin-end perms offset dev inode path`. */
static void take_map_line(const char *p)
{
    uintptr_t bound[2] = { 0, 0 };
    for (int i = 0; i < 2; i++) {
        for (int d; (d = hex_digit(*p)) >= 0; p++)
            bound[i] = bound[i] << 4 | (uintptr_t)d;
        p++; /* '-' or ' ' */
    }
    if (strlen(p) < 4 || p[0] != 'r' || p[2] != 'x')
        return;
    if (strchr(p, '/') || strchr(p, '['))
        return;
    if (n_ranges < MAX_RANGES) {
        ranges[n_ranges].begin = bound[0];
        ranges[n_ranges++].end = bound[1];
    }
}

static void find_ranges(void)
{
    char buffer[4096], line[256];
    size_t used = 0;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    n_ranges = 0;
    if (fd < 0)
        return;
    for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) {
        for (ssize_t i = 0; i < n; i++) {
            if (buffer[i] == '\n') {
                line[used] = '\0';
                take_map_line(line);
                used = 0;
            } else if (used + 1 < sizeof line) {
                line[used++] = buffer[i];
            }
        }
    }
    close(fd);
}

/* Whether n bytes at p are machine code of LuaJIT. */
static int compiled(uintptr_t p, uintptr_t n)
{
    for (int i = 0; i < n_ranges; i++) {
        if (p >= ranges[i].begin && p + n <= ranges[i].end)
            return 1;
    }
    return 0;
}

/* Exit stubs come in groups of 32, each stub `push imm8` with the low byte of its number, then a
 * short jump to the end of the group, where the high byte is pushed. The displacement follows from
 * the number, which makes the pattern safe. */
static int is_exit_stub(uintptr_t p)
{
    if (!compiled(p, 4))
        return 0;
    const uint8_t *b = (const uint8_t *)p;
    int in_group = b[1] & 31;
    if (b[0] != 0x6a)
        return 0;
    return in_group == 31 ? b[2] == 0x6a : b[2] == 0xeb && b[3] == 4 * (31 - in_group) - 2;
}

/* The stub of exit 0, or 0: the first of the group whose high byte is 0. */
static uintptr_t find_exit_zero(void)
{
    static const uint8_t HEAD[] = { 0x6a, 0, 0xeb, 122, 0x6a, 1, 0xeb, 118 };
    for (int i = 0; i < n_ranges; i++) {
        for (uintptr_t p = ranges[i].begin; p + 132 <= ranges[i].end; p++) {
            const uint8_t *b = (const uint8_t *)p;
            if (memcmp(b, HEAD, sizeof HEAD) == 0 && b[126] == 0x6a && b[127] == 0 &&
                b[128] == 0xe9)
                return p;
        }
    }
    return 0;
}

/* The exit stub that the jump with a 4-byte distance at p, of so many bytes, goes to; or 0. */
static uintptr_t stub_of(uintptr_t p, uintptr_t length)
{
    int32_t distance;
    memcpy(&distance, (const uint8_t *)p + length - 4, sizeof distance);
    uintptr_t target = p + length + (uintptr_t)(intptr_t)distance;
    return is_exit_stub(target) ? target : 0;
}

/* Where the guard at p would leave the trace, or 0 when no guard stands there. The branch back at
 * the end of a loop may be the inverse of one: the way out is the jump behind it. */
static uintptr_t guard_target(uintptr_t p)
{
    const uint8_t *b = (const uint8_t *)p;
    uintptr_t behind = 0;
    if (compiled(p, 5) && b[0] == 0xe9)
        return stub_of(p, 5); /* jmp rel32 */
    if (compiled(p, 6) && b[0] == 0x0f && (b[1] & 0xf0) == 0x80) { /* jcc rel32 */
        uintptr_t target = stub_of(p, 6);
        if (target || b[5] < 0x80)
            return target;
        behind = p + 6;
    } else if (compiled(p, 2) && (b[0] & 0xf0) == 0x70 && b[1] >= 0x80) { /* jcc rel8 */
        behind = p + 2;
    }
    return behind && compiled(behind, 5) && *(const uint8_t *)behind == 0xe9 ? stub_of(behind, 5)
                                                                            : 0;
}

/* Counts one compiled instruction. The mark moves at powers of two, so that it comes to lie inside
 * the loop. */
static int guardless(uintptr_t pc)
{
    if (pc == turn_mark)
        turns++;
    compiled_steps++;
    if ((compiled_steps & (compiled_steps - 1)) == 0) {
        turn_mark = pc;
        turns = 0;
    }
    return compiled_steps > GUARDLESS_STEPS || turns > GUARDLESS_TURNS;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
    (void)sig;
    (void)info;
    greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t pc = (uintptr_t)reg[REG_RIP];
    int done = !pending || !stepping || ++steps > STEP_BUDGET;
    if (!done && compiled(pc, 1)) {
        uintptr_t target = guard_target(pc);
        if (!target && guardless(pc))
            target = find_exit_zero();
        if (target) {
            reg[REG_RIP] = (greg_t)target;
            done = 1;
        }
    }
    if (done) {
        /* All of it in a C function that takes long (string.gsub of 100 MB): stepping makes it 10^4
         * times slower, so it gets more and more time of its own. */
        if (compiled_steps == 0 && patience < MOST_PATIENT)
            patience *= 4;
        reg[REG_EFL] &= ~(greg_t)0x100;
        stepping = 0;
        sigaction(SIGTRAP, &trap_before, NULL);
    }
}

static void start_stepping(void *context)
{
    struct sigaction trap;
    memset(&trap, 0, sizeof trap);
    trap.sa_sigaction = on_trap;
    trap.sa_flags = SA_SIGINFO | SA_RESTART;
    sigfillset(&trap.sa_mask);
    greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
    find_ranges();
    if (n_ranges == 0)
        return;
    /* A loop that calls C functions is mostly in them, where stepping is long: a later tick may
     * find it outside. */
    if (!compiled((uintptr_t)reg[REG_RIP], 1) && ++ticks_outside <= patience)
        return;
    if (sigaction(SIGTRAP, &trap, &trap_before))
        return;
    steps = compiled_steps = turns = ticks_outside = 0;
    turn_mark = 0;
    stepping = 1;
    reg[REG_EFL] |= 0x100;
}

#else

#define CAN_BREAK 0
static const int stepping = 0;
static int patience;

static void start_stepping(void *context)
{
    (void)context;
}

#endif

/* Signals may arrive in any thread; Lua lives in one. */
static int elsewhere(int sig)
{
    if (pthread_equal(pthread_self(), main_thread))
        return 0;
    pthread_kill(main_thread, sig);
    return 1;
}

static void on_tick(int sig, siginfo_t *info, void *context)
{
    (void)info;
    int saved = errno;
    if (!pending) {
        tick(0);
    } else if (!elsewhere(sig) && loading) {
        loading = 0; /* the hook runs: no compiled code to be left */
    } else if (state && !elsewhere(sig) && !stepping) {
        set_hook(); /* again: a finalizer that was running at the signal puts the old hooks back */
        /* kernels end soon; stepping through one makes it 10^4 times slower */
        if (!library_works || !library_works())
            start_stepping(context);
    }
    errno = saved;
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    int saved = errno;
    if (elsewhere(sig))
        return;
    if (sig == SIGPIPE) {
        /* Only a reader of our own output who left ends the run; any other broken pipe is its
         * writer's error. */
        struct pollfd out = { STDOUT_FILENO, 0, 0 };
        if (poll(&out, 1, 0) != 1 || !(out.revents & POLLERR))
            return;
    } else {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (++presses == 1)
            first_press = now;
        /* A neighbour that is deaf while it works cannot be told to stop. Results are published by
         * one rename, so that the end of the process leaves the old ones or the new ones. */
        int deaf = pending && now.tv_sec - first_press.tv_sec >= DEAF_SECONDS;
        if ((presses >= 3 && !prompting) || (presses >= 2 && deaf)) {
            static const char last[] = "mascon: ended by a further signal\n";
            ssize_t said = write(STDERR_FILENO, last, sizeof last - 1);
            (void)said; /* nobody is left to be told */
            _exit(128 + sig);
        }
    }
    pending = sig;
    patience = PATIENT_TICKS;
    if (waits(sig)) {
        errno = saved;
        return;
    }
    if (cancel_request)
        cancel_request();
    set_hook();
    tick(1);
    errno = saved;
}

static void install(int sig, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction old, new;
    /* A signal that our starter ignores (nohup, a background job of a simple shell)
     * stays ignored. */
    if (sigaction(sig, NULL, &old) || (old.sa_handler == SIG_IGN && sig != SIGURG))
        return;
    memset(&new, 0, sizeof new);
    new.sa_sigaction = handler;
    new.sa_flags = SA_SIGINFO | (sig == SIGURG ? SA_RESTART : 0);
    sigemptyset(&new.sa_mask);
    sigaction(sig, &new, NULL);
}

void mci_interrupt_install(void)
{
    struct sigevent event;
    main_thread = pthread_self();
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGURG;
    have_ticker = timer_create(CLOCK_MONOTONIC, &event, &ticker) == 0;
    install(SIGURG, on_tick);
    install(SIGINT, on_signal);
    install(SIGTERM, on_signal);
    install(SIGHUP, on_signal);
    install(SIGPIPE, on_signal);
    /* a file size limit is an error of the write, not the end of the process */
    signal(SIGXFSZ, SIG_IGN);
}

void mci_interrupt_attach(lua_State *L, const mci_place *place)
{
    static char folders[2][MCI_PATH_BYTES + 3];
    const char *paths[2] = { place->lua, place->generated };
    for (int i = 0; i < 2; i++) {
        snprintf(folders[i], sizeof folders[i], "@%s/", paths[i]);
        own_folders[i] = folders[i];
        own_lengths[i] = strlen(folders[i]);
    }
    state = L;
    if (pending)
        set_hook(); /* it came before there was a state */
}

void mci_interrupt_detach(void)
{
    tick(0);
    state = NULL;
    cancel_request = cancel_clear = NULL;
    library_works = NULL;
}

int mci_interrupt_status(const char **word)
{
    int sig = caught ? caught : pending;
    if (!sig)
        return 0;
    *word = sig == SIGPIPE ? NULL : signal_word(sig);
    return 128 + sig;
}

/* run_begin(): forgets earlier signals; a new command of the prompt starts. */
static int host_run_begin(lua_State *L)
{
    tick(0);
    prompting = 1;
    pending = caught = presses = insists = 0;
    lua_sethook(L, NULL, 0, 0);
    if (cancel_clear)
        cancel_clear();
    return 0;
}

/* protected(fn, handler, ...) -> as of xpcall(fn, handler, ...). A second signal ends fn, whatever
 * it catches. */
static int host_protected(lua_State *L)
{
    lua_pushvalue(L, 1);
    lua_remove(L, 1);
    lua_insert(L, 2);
    protecting++;
    int status = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 1);
    protecting--;
    if (insists && !protecting) {
        insists = 0;
        if (!pending)
            lua_sethook(L, NULL, 0, 0);
    }
    lua_pushboolean(L, status == 0);
    lua_replace(L, 1);
    return lua_gettop(L);
}

/* held(fn, ...) -> word of a signal that came meanwhile or nil, what fn gives. A first signal waits
 * for the end of fn and is then told, not raised; a second one ends fn. An error of fn goes on: it
 * says more than the signal. */
static int host_held(lua_State *L)
{
    holding++;
    int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
    holding--;
    if (insists)
        return 0; /* the hook raises it again at the next instruction */
    int sig = holding ? 0 : pending;
    if (sig) {
        pending = 0;
        caught = sig;
        lua_sethook(L, NULL, 0, 0); /* of a signal between the two statements above */
        tick(0);
        if (cancel_clear)
            cancel_clear();
    }
    if (status != 0)
        return lua_error(L);
    if (sig)
        lua_pushstring(L, signal_word(sig));
    else
        lua_pushnil(L);
    lua_insert(L, 1);
    return lua_gettop(L);
}

/* signal() -> number, word of the signal that was turned into an error in this run or still waits;
 * nil when there is none. */
static int host_signal(lua_State *L)
{
    int sig = caught ? caught : pending;
    if (!sig)
        return 0;
    lua_pushinteger(L, sig);
    lua_pushstring(L, signal_word(sig));
    return 2;
}

/* set_cancel(request, clear, works): the addresses, as numbers, of the library's cancel functions
 * and of the one that says whether kernels are running. */
static int host_set_cancel(lua_State *L)
{
    uintptr_t request = (uintptr_t)luaL_checknumber(L, 1);
    uintptr_t clear = (uintptr_t)luaL_checknumber(L, 2);
    uintptr_t works = (uintptr_t)luaL_checknumber(L, 3);
    /* POSIX promises that an address holds a function; ISO C has no cast for it. */
    memcpy(&cancel_request, &request, sizeof request);
    memcpy(&cancel_clear, &clear, sizeof clear);
    memcpy(&library_works, &works, sizeof works);
    return 0;
}

void mci_interrupt_functions(lua_State *L)
{
    lua_pushcfunction(L, host_run_begin);
    lua_setfield(L, -2, "run_begin");
    lua_pushcfunction(L, host_protected);
    lua_setfield(L, -2, "protected");
    lua_pushcfunction(L, host_held);
    lua_setfield(L, -2, "held");
    lua_pushcfunction(L, host_signal);
    lua_setfield(L, -2, "signal");
    lua_pushcfunction(L, host_set_cancel);
    lua_setfield(L, -2, "set_cancel");
    lua_pushboolean(L, CAN_BREAK);
    lua_setfield(L, -2, "breaks_compiled_code");
}
