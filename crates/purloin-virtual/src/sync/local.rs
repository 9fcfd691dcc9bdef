//! Values of a thread of its own.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;

use crate::engine;

/// Declares values of which each fibre has its own. The syntax is that of the standard library's macro.
#[macro_export]
macro_rules! local_key {
    ($($(#[$about:meta])* $vis:vis static $NAME:ident: $Type:ty = const $value:block $(;)?)+) => {$(
        $(#[$about])*
        $vis static $NAME: $crate::sync::LocalKey<$Type> = $crate::sync::LocalKey::new(|| $value);
    )+};
    ($($(#[$about:meta])* $vis:vis static $NAME:ident: $Type:ty = $value:expr $(;)?)+) => {$(
        $(#[$about])*
        $vis static $NAME: $crate::sync::LocalKey<$Type> = $crate::sync::LocalKey::new(|| $value);
    )+};
}

/// The value of a thread that has ended is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessError;

/// A value of which each thread has its own.
pub struct LocalKey<T: 'static> {
    make: fn() -> T,
    /// Gives each key an address of its own, whichever value it has.
    _place: u8,
}

type Values = Vec<(usize, Rc<dyn Any>)>;

std::thread_local! {
    /// The values of a thread that is no fibre.
    static OUTSIDE: RefCell<Values> = const { RefCell::new(Vec::new()) };
}

impl<T: 'static> LocalKey<T> {
    /// Returns a key whose value `make` makes, on each thread.
    pub const fn new(make: fn() -> T) -> LocalKey<T> {
        LocalKey { make, _place: 0 }
    }

    /// Calls `f` with this thread's value.
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.try_with(f).expect("the values of this thread exist")
    }

    /// Calls `f` with this thread's value.
    ///
    /// # Errors
    ///
    /// Returns an error if the thread is ending, and its values are gone.
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        let key = (&raw const *self).addr();
        let value = match self.find(key) {
            Some(value) => value,
            None => {
                let value: Rc<dyn Any> = Rc::new((self.make)());
                let copy = Rc::clone(&value);
                match engine::with(move |engine| engine.locals().push((key, copy))) {
                    Some(()) => (),
                    None => OUTSIDE
                        .try_with(|values| values.borrow_mut().push((key, Rc::clone(&value))))
                        .map_err(|_| AccessError)?,
                }
                value
            }
        };
        Ok(f(value.downcast_ref().expect("a key has one type")))
    }

    fn find(&self, key: usize) -> Option<Rc<dyn Any>> {
        let find = |values: &Values| {
            let found = values.iter().find(|(other, _)| *other == key);
            found.map(|(_, value)| Rc::clone(value))
        };
        match engine::with(|engine| find(engine.locals())) {
            Some(found) => found,
            None => OUTSIDE.try_with(|values| find(&values.borrow())).ok()?,
        }
    }
}
