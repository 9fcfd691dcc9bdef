//! What MPI can add: [`Number`].

use bytemuck::Pod;
use mpi::ffi;

/// Numbers that MPI can add.
pub trait Number: Pod + sealed::Sealed {
    /// What MPI calls it.
    #[doc(hidden)]
    fn datatype() -> ffi::MPI_Datatype;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($number:ty: $datatype:ident),* $(,)?) => {
        $(
            impl sealed::Sealed for $number {}

            impl Number for $number {
                fn datatype() -> ffi::MPI_Datatype {
                    // SAFETY: a constant.
                    unsafe { ffi::$datatype }
                }
            }
        )*
    };
}

numbers! {
    f64: RSMPI_DOUBLE,
    f32: RSMPI_FLOAT,
    u64: RSMPI_UINT64_T,
    i64: RSMPI_INT64_T,
    u32: RSMPI_UINT32_T,
    i32: RSMPI_INT32_T,
}
