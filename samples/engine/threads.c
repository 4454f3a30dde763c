#include "engine.h"

#include <stdlib.h>

/* Step 4: threads. The engine has a pool of its own: here one list of tasks, urgent ones first. heddle asks it for
 * loops, at most one a thread, which run heddle's jobs as long as there are any; it brings no thread but the one of the
 * host queue. */

struct task {
    void (*run)(void *);
    void *context;
    enum { LISTED, RUNNING, ENDED } state;
    struct task *next;
};

static struct task *take_first(struct threads *threads)
{
    struct task *task = threads->first;
    threads->first = task->next;
    if (!threads->first)
        threads->last = NULL;
    return task;
}

static void *thread_main(void *user)
{
    struct threads *threads = user;
    pthread_mutex_lock(&threads->lock);
    for (;;) {
        while (!threads->first && !threads->stop)
            pthread_cond_wait(&threads->work, &threads->lock);
        if (!threads->first)
            break;
        struct task *task = take_first(threads);
        task->state = RUNNING;
        pthread_mutex_unlock(&threads->lock);
        task->run(task->context);
        pthread_mutex_lock(&threads->lock);
        task->state = ENDED;
        pthread_cond_broadcast(&threads->ended);
    }
    pthread_mutex_unlock(&threads->lock);
    return NULL;
}

bool threads_start(struct threads *threads, uint32_t count)
{
    pthread_mutex_init(&threads->lock, NULL);
    pthread_cond_init(&threads->work, NULL);
    pthread_cond_init(&threads->ended, NULL);
    while (threads->count < count && threads->count < sizeof threads->thread / sizeof threads->thread[0]) {
        if (pthread_create(&threads->thread[threads->count], NULL, thread_main, threads) != 0)
            return false;
        threads->count++;
    }
    return true;
}

void threads_stop(struct threads *threads)
{
    pthread_mutex_lock(&threads->lock);
    threads->stop = true;
    pthread_cond_broadcast(&threads->work);
    pthread_mutex_unlock(&threads->lock);
    for (uint32_t i = 0; i < threads->count; i++)
        pthread_join(threads->thread[i], NULL);
    pthread_cond_destroy(&threads->work);
    pthread_cond_destroy(&threads->ended);
    pthread_mutex_destroy(&threads->lock);
    threads->count = 0;
}

struct task *threads_run(struct threads *threads, void (*run)(void *), void *context, bool urgent)
{
    struct task *task = malloc(sizeof *task);
    if (!task)
        return NULL;
    *task = (struct task){run, context, LISTED, NULL};
    pthread_mutex_lock(&threads->lock);
    if (urgent || !threads->last) {
        task->next = threads->first;
        threads->first = task;
        if (!threads->last)
            threads->last = task;
    } else {
        threads->last->next = task;
        threads->last = task;
    }
    pthread_cond_signal(&threads->work);
    pthread_mutex_unlock(&threads->lock);
    return task;
}

static void take_off(struct threads *threads, struct task *task)
{
    struct task *before = NULL;
    for (struct task *t = threads->first; t != task; t = t->next)
        before = t;
    *(before ? &before->next : &threads->first) = task->next;
    if (threads->last == task)
        threads->last = before;
}

void threads_finish(struct threads *threads, struct task *task)
{
    pthread_mutex_lock(&threads->lock);
    if (task->state == LISTED)
        take_off(threads, task);
    else
        while (task->state != ENDED)
            pthread_cond_wait(&threads->ended, &threads->lock);
    pthread_mutex_unlock(&threads->lock);
    free(task);
}

void threads_join(struct threads *threads, struct task *task)
{
    pthread_mutex_lock(&threads->lock);
    while (task->state != ENDED)
        pthread_cond_wait(&threads->ended, &threads->lock);
    pthread_mutex_unlock(&threads->lock);
    free(task);
}

/* ---- for heddle ---- */

/* Without memory for a task the loop is dropped: heddle's caller then runs the jobs itself. A handle is what finish
 * gets; null would say that the loop has run, which does no harm here either. */
static void *enqueue(hd_loop_fn loop, void *context, void *user)
{
    return threads_run(user, loop, context, true);
}

static void finish(void *handle, void *user)
{
    threads_finish(user, handle);
}

hd_jobs_desc threads_for_heddle(struct threads *threads)
{
    /* The thread that calls heddle works too. */
    return (hd_jobs_desc){
        .worker_count = threads->count + 1, .enqueue = enqueue, .finish = finish, .host_user = threads};
}
