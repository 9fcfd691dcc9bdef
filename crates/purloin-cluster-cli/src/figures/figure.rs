//! The figures and the variants that they compare: [`FIGURES`].

use purloin_cluster::{CutOff, MAX_RESIDUAL, Options, Profiling, Steal};

/// One of the paper's figures.
pub struct Figure {
    pub number: u32,
    /// One sentence about the comparison.
    pub title: &'static str,
    /// The paper's result, with 384 threads on 32 nodes.
    pub paper: &'static str,
    pub shows: Shows,
    /// Returns the variants to compare, given the kernel's best depth for [`CutOff::Depth`].
    pub variants: fn(depth: u32) -> Vec<Variant>,
}

/// The content of a figure's table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// The share of the ranks' time that profiling takes.
    Profiling,
    /// Speed-ups, and the name of the best variant.
    SpeedUps,
    /// Two speed-ups, and their ratio.
    Gain,
}

/// A set of options with which a figure runs its kernels.
pub struct Variant {
    pub name: String,
    /// The options, without the latency.
    pub options: Options,
}

fn variant(name: impl Into<String>, change: impl FnOnce(&mut Options)) -> Variant {
    let mut options = Options::default();
    change(&mut options);
    Variant {
        name: name.into(),
        options,
    }
}

/// The depths that are tried to find the best one, unless the user chooses. The largest depths are for
/// UTS, whose tree is hundreds of levels deep.
pub const DEPTHS: &[u32] = &[1, 2, 4, 6, 8, 12, 16, 24, 48];

/// The number of the figure that shows the time of a get, and needs no kernels.
pub const LATENCY_FIGURE: u32 = 5;

/// The number of the figure that needs the best depth.
pub const FIGURE_WITH_DEPTH: u32 = 8;

/// All figures that need kernels, in order.
///
/// Source: AsynchWS, sections V.B to V.E.
pub const FIGURES: &[Figure] = &[
    Figure {
        number: 6,
        title: "The cost of profiling, in percent of the ranks' time, if durations of tasks are \
                collected on each node separately (local) or on rank 0 for all ranks (global).",
        paper: "local is below 2 for every kernel, and global is 23.6 on average.",
        shows: Shows::Profiling,
        variants: |_| {
            vec![
                variant("local", |options| options.profiling = Profiling::Local),
                variant("global", |options| options.profiling = Profiling::Global),
            ]
        },
    },
    Figure {
        number: 7,
        title: "Speed-up by the number of residual tasks: a rank starts to steal when fewer tasks \
                remain, and runs them during the steal.",
        paper: "2 or 3 are best for floorplan, nqueens and uts, 2 is best for strassen, and 0 is \
                best for fib and sparselu.",
        shows: Shows::SpeedUps,
        variants: |_| {
            let of = |residual: usize| {
                variant(residual.to_string(), |options| options.residual = residual)
            };
            (0..=MAX_RESIDUAL).map(of).collect()
        },
    },
    Figure {
        number: FIGURE_WITH_DEPTH,
        title: "Speed-up by the cut-off, which decides which tasks other ranks can steal: all \
                tasks (none), tasks for which the queue has room (queue), tasks of at most depth D \
                (depth; the best of several D), or tasks that are long enough, judged by the \
                durations of others (adaptive, and the rule of the paper).",
        paper: "adaptive is best for floorplan, nqueens, strassen and uts, and depth is best for \
                fib; with none, all kernels but sparselu stay below 1.4; sparselu cannot use \
                depth, and is about equally fast with the others.",
        shows: Shows::SpeedUps,
        variants: |depth| {
            vec![
                variant("none", |options| options.cut_off = CutOff::None),
                variant("queue", |options| options.cut_off = CutOff::Queue),
                variant("depth", |options| options.cut_off = CutOff::Depth(depth)),
                variant("adaptive", |options| options.cut_off = CutOff::Adaptive),
                variant("paper", |options| options.cut_off = CutOff::Paper),
            ]
        },
    },
    Figure {
        number: 9,
        title: "Speed-up with synchronous stealing, where a rank waits during a steal, and with \
                asynchronous stealing, where it runs its last tasks; both with the adaptive \
                cut-off.",
        paper: "async is faster for floorplan, nqueens and uts, slower for sparselu, and equally \
                fast for fib and strassen.",
        shows: Shows::Gain,
        variants: |_| {
            vec![
                variant("sync", |options| options.steal = Steal::Sync),
                variant("async", |options| options.steal = Steal::Async),
            ]
        },
    },
    Figure {
        number: 10,
        title: "Speed-up of HotSLAW's policy (synchronous stealing, tasks for which the queue has \
                room) and of AsynchWS (asynchronous stealing, adaptive cut-off).",
        paper: "AsynchWS is 1.16 times as fast for floorplan, 1.06 times for nqueens, 1.14 times \
                for uts, 1.11 times for strassen, and a little slower for sparselu and fib.",
        shows: Shows::Gain,
        variants: |_| {
            vec![
                variant("HotSLAW", |options| {
                    options.steal = Steal::Sync;
                    options.cut_off = CutOff::Queue;
                }),
                variant("AsynchWS", |_| {}),
            ]
        },
    },
];
