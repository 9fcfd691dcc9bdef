#[cfg(test)]
pub(crate) fn in_worker<R: Send>(op: impl FnOnce((), bool) -> R + Send) -> R {
    crate::global::global().install(|| op((), false))
}
