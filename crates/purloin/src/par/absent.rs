//! Methods of rayon's iterators that a parallel iterator does not have. Each exists only for the compiler's error, which says
//! what to write instead: its bound is a trait that no chain implements. Without these methods, the compiler complains that
//! [`Par`] is no [`Iterator`], or proposes a method whose name is similar.
//!
//! A program whose own extension trait adds a method of one of these names to [`Par`] calls it by its path.

use super::Par;

/// Defines the methods: for each, its name and the types of its arguments, the trait that no chain implements, and what to
/// write instead.
macro_rules! absent {
    ($($name:ident($($Argument:ident),*): $Trait:ident, $way_out:literal;)*) => {
        $(
            #[diagnostic::on_unimplemented(message = "this method of rayon's has another name here, or none", label = $way_out)]
            pub trait $Trait {}
        )*

        impl<R, C> Par<R, C> {
            $(
                #[doc(hidden)]
                pub fn $name<$($Argument),*>(self, $(_: $Argument),*) -> Self
                where
                    C: $Trait,
                {
                    self
                }
            )*
        }
    };
}

absent! {
    collect_into_vec(V): HasCollectIntoVec, "write `v.clear()`, and `collect_into(&mut v)`, which appends";
    find_last(P): HasFindLast, "write `rev().find_first(p)`";
    flat_map(F): HasFlatMap, "write `flat_map_iter(f)`, where `f` returns a plain iterator, which one worker runs; if the iterators are long, nest loops";
    flatten(): HasFlatten, "write `flat_map_iter(|items| items)`; if the inner collections are large, nest loops";
    fold_with(T, F): HasFoldWith, "write `fold(|| value.clone(), f, g)`, where `g` combines two values: the result is a value, and needs no `reduce`";
    for_each_with(T, F): HasForEachWith, "write `for_each_init(|| value.clone(), f)`";
    map_with(T, F): HasMapWith, "write `map_init(|| value.clone(), f)`";
    position_first(P): HasPositionFirst, "write `position(p)`";
    reduce_with(F): HasReduceWith, "write `reduce(f)`";
    update(F): HasUpdate, "write `map(|mut item| {{ f(&mut item); item }})`";
    with_max_len(N): HasMaxLen, "leave it out: a loop is split only if a worker is idle";
    with_min_len(N): HasMinLen, "leave it out: a loop is split only if a worker is idle";
}
