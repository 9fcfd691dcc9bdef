//! Cancelled results that call the panic hook.

use std::panic::{self, AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use crate::common;
use purloin::{Cancelled, Serial, Worker};

/// Otherwise a program could end without a word.
#[test]
fn a_get_outside_of_a_cancelled_scope_calls_the_panic_hook() {
    static HEARD: AtomicUsize = AtomicUsize::new(0);
    let me = thread::current().id();
    let others = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        match info.payload().is::<Cancelled>() && thread::current().id() == me {
            true => _ = HEARD.fetch_add(1, Relaxed),
            false => others(info),
        }
    }));
    let heard = |f: &mut dyn FnMut()| {
        let before = HEARD.load(Relaxed);
        let has_panicked = catch_unwind(AssertUnwindSafe(f)).is_err();
        (has_panicked, HEARD.load(Relaxed) - before)
    };
    let pool = common::pool(2);
    let cancelled = || {
        pool.run(|mut w| {
            w.finish(|scope| {
                scope.cancel();
                scope.future(|_| 1)
            })
        })
    };
    assert_eq!(heard(&mut || _ = cancelled().get()), (true, 1));
    assert_eq!(heard(&mut || _ = cancelled().share().get()), (true, 1));
    assert_eq!(heard(&mut || _ = cancelled().try_get()), (false, 0));
    assert_eq!(heard(&mut || _ = cancelled().share().try_get()), (false, 0));
    // The outermost call or scope reports it, once, and no task does.
    assert_eq!(
        heard(&mut || _ = pool.run(|_| cancelled().get())),
        (true, 1)
    );
    assert_eq!(
        heard(&mut || _ = pool.finish(|_| cancelled().get())),
        (true, 1)
    );
    let in_the_body = || {
        pool.finish(|scope| {
            scope.cancel();
            scope.future(|_| 1).get()
        })
    };
    assert_eq!(heard(&mut || _ = in_the_body()), (true, 1));
    let in_a_task = || {
        pool.finish(|scope| {
            scope.cancel();
            let one = scope.shared_future(|_| 1);
            scope.after([&one]).spawn(move |_| _ = one.get());
        })
    };
    assert_eq!(heard(&mut || in_a_task()), (false, 0));
    pool.spawn(|_| resume_unwind(Box::new(Cancelled)));
    assert_eq!(heard(&mut || pool.wait()), (true, 1));
    let serially = || {
        Serial.finish(|scope| {
            scope.cancel();
            scope.future(|_| 1)
        })
    };
    assert_eq!(heard(&mut || _ = serially().get()), (true, 1));
    let nested = || {
        Serial.finish(|outer| {
            outer.spawn(|_| {
                outer.cancel();
                let one = outer.shared_future(|_| 1);
                Serial.finish(|_| _ = one.get());
            });
        })
    };
    assert_eq!(heard(&mut || nested()), (false, 0));
}
