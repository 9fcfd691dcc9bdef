//! Methods of rayon's iterators that a parallel iterator does not have. Each of them exists only for the compiler's error:
//! it demands something that no chain fulfils, and the error says what to write instead. Without them, the compiler
//! complains that [`Par`] is no [`Iterator`], or proposes a method whose name is similar.
//!
//! ```compile_fail,E0277
//! use purloin::prelude::*;
//!
//! let pairs: Vec<u32> = [1, 2].into_par().flat_map(|n| [n, n]).collect();
//! ```

use super::Par;

/// Defines the methods: for each, its name and the types of its arguments, the trait that no chain implements, and what to
/// write instead.
macro_rules! absent {
    ($($name:ident($($Argument:ident),*): $Trait:ident, $way_out:literal;)*) => {
        $(
            #[diagnostic::on_unimplemented(message = "parallel iterators of Purloin have no such method", label = $way_out)]
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
    flat_map(F): HasFlatMap, "write `flat_map_iter(f)`, which goes over the iterators one after the other, or nest loops";
    flatten(): HasFlatten, "write `flat_map_iter(|items| items)`, or nest loops";
    fold_with(T, F): HasFoldWith, "write `fold(|| value.clone(), f, g)`, where `g` combines two values";
    for_each_with(T, F): HasForEachWith, "write `for_each_init(|| value.clone(), f)`";
    map_with(T, F): HasMapWith, "write `map_init(|| value.clone(), f)`";
    position_first(P): HasPositionFirst, "write `position(p)`";
    reduce_with(F): HasReduceWith, "write `reduce(f)`";
    update(F): HasUpdate, "write `map(|mut item| {{ f(&mut item); item }})`";
    with_max_len(N): HasMaxLen, "leave it out: a loop is split only if a worker is idle";
    with_min_len(N): HasMinLen, "leave it out: a loop is split only if a worker is idle";
}
