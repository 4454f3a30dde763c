/* Park and wake of jobs/wake.c, checked with spin: one submitter, two workers, two jobs. Every store and load is a step
 * of its own, and the submitter's store to the deque's bottom sits in a store buffer until a fence or any later moment
 * drains it, as on x86 and on weaker machines.
 *
 *   spin -search park.pml                  must find nothing
 *   spin -search -DNO_RECHECK park.pml     no second look after the sleep bit
 *   spin -search -DNO_FENCE park.pml       the submitter reads searchers and sleepers past its own store
 *   spin -search -DLATE_UNCOUNT park.pml   the parker leaves the searchers after its second look
 *
 * The three mutants must each be found: a job lies in the queue and every worker sleeps. */

#define WORKERS 2
#define JOBS 2

byte queue = 0;          /* jobs that are visible */
byte buffered = 0;       /* jobs in the submitter's store buffer */
byte searchers = 0;
bool sleeps[WORKERS];    /* the sleep bits */
byte event[WORKERS];     /* the event counts */
byte done = 0;

inline drain()
{
    d_step { queue = queue + buffered; buffered = 0; }
}

/* Only where nobody searches; one is counted before its bit is cleared. */
inline wake_one()
{
    do
    :: searchers == 0 && (sleeps[0] || sleeps[1]) ->
        atomic { searchers++ };
        if
        :: atomic { sleeps[0] -> sleeps[0] = false; woken = 0 }
        :: atomic { !sleeps[0] && sleeps[1] -> sleeps[1] = false; woken = 1 }
        :: atomic { !sleeps[0] && !sleeps[1] -> woken = WORKERS }
        fi;
        if
        :: woken < WORKERS -> event[woken]++; break
        :: else ->
            atomic { searchers-- };
            if
            :: queue == 0 -> break
            :: else
            fi
        fi
    :: else -> break
    od
}

proctype submitter()
{
    byte i = 0, seen_searchers, seen_sleepers, woken;

    do
    :: i < JOBS ->
        buffered++;
#ifndef NO_FENCE
        drain();
#endif
        wake_one();
        i++
    :: else -> break
    od;
    drain()
}

/* What is buffered reaches memory at some moment after the submitter went on: any step of its own may come first. */
proctype memory()
{
end:
    do
    :: atomic { buffered > 0 && done < JOBS -> drain() }
    od
}

proctype worker(byte me)
{
    byte key, woken;
    bool got;

search:
    atomic { searchers++ };
look:
    atomic {
        got = false;
        if
        :: queue > 0 -> queue--; got = true
        :: else
        fi
    };
    if
    :: got ->
        /* found work: no searcher any more, and whoever was the last looks once more for others */
        atomic { searchers--; key = searchers };
        if
        :: key == 0 && queue > 0 -> wake_one()
        :: else
        fi;
        done++;
        goto next
    :: else
    fi;
    if
    :: goto look /* spins on */
    :: skip
    fi;
    key = event[me];
#ifndef LATE_UNCOUNT
    atomic { searchers-- };
#endif
    sleeps[me] = true;
#ifndef NO_RECHECK
    if
    :: queue > 0 -> goto awake
    :: else
    fi;
#endif
#ifdef LATE_UNCOUNT
    atomic { searchers-- };
#endif
end:
    event[me] != key;
awake:
    atomic {
        if
        :: sleeps[me] -> sleeps[me] = false; searchers++
        :: else /* a waker counted this worker already */
        fi
    };
    goto look;
next:
    atomic {
        got = false;
        if
        :: queue > 0 -> queue--; got = true
        :: else
        fi
    };
    if
    :: got -> done++; goto next
    :: else -> goto search
    fi
}

/* Runs only where nothing else can: then all jobs are done, or a wake-up was lost. */
proctype nothing_is_lost()
{
    timeout -> assert(done == JOBS)
}

init
{
    atomic { run nothing_is_lost(); run submitter(); run worker(0); run worker(1); run memory() }
}

