//! Threads for work that can be done side by side.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::{io, thread};

/// Returns how many threads run at a time on this machine; 1 where it does not say.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Call `work` on each of `count` threads, and return when all have ended. It begins on none unless all could be started.
///
/// # Errors
/// What the system says where it cannot start one.
///
/// # Panics
/// Where `work` panics, with the same.
pub fn on_each(count: usize, work: impl Fn() + Sync) -> io::Result<()> {
    let all_started = RwLock::new(false);
    thread::scope(|scope| {
        let mut told = all_started.write().unwrap_or_else(PoisonError::into_inner);
        let begin = || {
            let all = *all_started.read().unwrap_or_else(PoisonError::into_inner);
            if all {
                work();
            }
        };
        let started: io::Result<Vec<_>> =
            (0..count).map(|_| thread::Builder::new().spawn_scoped(scope, begin)).collect();
        *told = started.is_ok();
        drop(told);
        for thread in started? {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        Ok(())
    })
}

/// Returns what `of` makes of each item, in their order. It runs on all cores, on this thread alone where no others can
/// be started.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(number) else { return };
            let made = of(item);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((number, made));
        }
    };
    let threads = cores().min(items.len());
    if threads < 2 || on_each(threads, work).is_err() {
        work();
    }
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, made)| made).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::panic::catch_unwind;
    use std::sync::Barrier;

    #[test]
    fn each_of_several_threads_works_at_the_same_time() {
        // A barrier of five opens for five threads and no fewer.
        let barrier = Barrier::new(5);
        let threads = Mutex::new(HashSet::new());
        on_each(5, || {
            barrier.wait();
            threads.lock().unwrap().insert(thread::current().id());
        })
        .unwrap();
        assert_eq!(threads.into_inner().unwrap().len(), 5);
    }

    #[test]
    fn on_no_thread_nothing_is_done() {
        on_each(0, || panic!("no thread was asked for")).unwrap();
    }

    #[test]
    fn a_panic_reaches_the_caller_with_its_words() {
        let worked = AtomicUsize::new(0);
        let panic = catch_unwind(std::panic::AssertUnwindSafe(|| {
            on_each(3, || {
                if worked.fetch_add(1, Ordering::Relaxed) == 1 {
                    panic!("the second one");
                }
            })
        }));
        assert_eq!(*panic.unwrap_err().downcast::<&str>().unwrap(), "the second one");
        assert_eq!(worked.into_inner(), 3);
    }

    #[test]
    fn items_keep_their_order_and_each_is_made_once() {
        let made = AtomicUsize::new(0);
        let items: Vec<u64> = (0..1000).collect();
        let squares = map(&items, |item| {
            made.fetch_add(1, Ordering::Relaxed);
            item * item
        });
        assert_eq!(squares, items.iter().map(|item| item * item).collect::<Vec<_>>());
        assert_eq!(made.into_inner(), 1000);
        assert_eq!(map(&[7], |item| item + 1), [8]);
        assert!(map(&[0; 0], |item| *item).is_empty());
    }
}
