//! Values of a thread of its own.

use std::any::Any;
use std::cell::RefCell;

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

/// The values of a thread, by the addresses of their keys.
pub(crate) type Values = Vec<(usize, Box<dyn Any>)>;

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
    ///
    /// # Panics
    ///
    /// Panics if the thread is ending, and its values are gone.
    #[inline]
    pub fn with<R>(&'static self, f: impl FnOnce(&T) -> R) -> R {
        self.try_with(f).expect("the values of this thread exist")
    }

    /// Calls `f` with this thread's value.
    ///
    /// # Errors
    ///
    /// Returns an error if the thread is ending, and its values are gone.
    #[inline]
    pub fn try_with<R>(&'static self, f: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        let key = (&raw const *self).addr();
        let value = find(key, &|| Box::new((self.make)()))?;
        // SAFETY: a key has one type, and its value lives until the thread ends: `end` drops values only when no code of the
        // thread uses them.
        Ok(f(unsafe { &*value.cast() }))
    }
}

/// Returns this thread's value of the key. The first call of each thread makes it.
#[inline(never)]
fn find(key: usize, make: &dyn Fn() -> Box<dyn Any>) -> Result<*const (), AccessError> {
    let find = |values: &Values| {
        let found = values.iter().find(|(other, _)| *other == key);
        found.map(|(_, value)| (&raw const **value).cast())
    };
    let found = match engine::with(|engine| find(engine.locals())) {
        Some(found) => found,
        None => OUTSIDE
            .try_with(|values| find(&values.borrow()))
            .map_err(|_| AccessError)?,
    };
    if let Some(found) = found {
        return Ok(found);
    }
    let value = make();
    let pointer = (&raw const *value).cast();
    match engine::is_inside() {
        true => engine::expect(|engine| engine.locals().push((key, value))),
        false => OUTSIDE
            .try_with(|values| values.borrow_mut().push((key, value)))
            .map_err(|_| AccessError)?,
    }
    Ok(pointer)
}

/// Drops the values of a fibre that ends.
pub(crate) fn end() {
    while let Some(Some(value)) = engine::with(|engine| engine.locals().pop()) {
        drop(value);
    }
}
