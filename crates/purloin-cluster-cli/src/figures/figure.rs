//! What each figure compares: [`FIGURES`].

use purloin_cluster::{CutOff, MAX_RESIDUAL, Options, Profiling, Steal};

/// One of the paper's figures.
pub struct Figure {
    pub number: u32,
    /// What is compared, in a sentence.
    pub title: &'static str,
    /// What the paper has found, on 384 threads of 32 nodes.
    pub paper: &'static str,
    pub shows: Shows,
    /// What is compared, for a kernel whose best depth for [`CutOff::Depth`] is this.
    pub variants: fn(depth: u32) -> Vec<Variant>,
}

/// What the cells of a figure's table are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shows {
    /// The share of the ranks' time that goes into profiling.
    Profiling,
    /// Speed-ups, of which the best is named.
    SpeedUps,
    /// Two speed-ups, and how many times as fast the second is.
    Gain,
}

/// A way to run a kernel.
pub struct Variant {
    pub name: String,
    /// All but the latency.
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

/// The depths of which the best is looked for. Those of UTS are the deepest, as its tree is
/// hundreds of levels deep.
pub const DEPTHS: &[u32] = &[1, 2, 4, 6, 8, 12, 16, 24, 48];

/// The figure that needs the best depth.
pub const TUNED: u32 = 8;

/// Every figure that can be shown.
///
/// Source: AsynchWS, sections V.B to V.E.
pub const FIGURES: &[Figure] = &[
    Figure {
        number: 6,
        title: "What profiling costs, in percent of the ranks' time, if the times of tasks are \
                collected on each node by itself (local) or on the first rank for all (global).",
        paper: "local below 2 for every kernel, global 23.6 in the mean.",
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
        title: "Speed-up by the number of residual tasks: with so many left, a rank begins to \
                steal, and runs them while it waits.",
        paper: "best with 2 or 3 for floorplan, nqueens and uts, with 2 for strassen, \
                with none for fib and sparselu.",
        shows: Shows::SpeedUps,
        variants: |_| {
            let of = |residual: usize| {
                variant(residual.to_string(), |options| options.residual = residual)
            };
            (0..=MAX_RESIDUAL).map(of).collect()
        },
    },
    Figure {
        number: TUNED,
        title: "Speed-up by the cut-off, which says what tasks others may steal: all of them \
                (none), those that find room in the queue, those of at most depth D (the best D \
                of several), or those that are worth it by the times of others (adaptive).",
        paper: "adaptive is best for floorplan, nqueens, strassen and uts, and depth for fib; \
                with none, all but sparselu stay below 1.4; for sparselu all are alike.",
        shows: Shows::SpeedUps,
        variants: |depth| {
            vec![
                variant("none", |options| options.cut_off = CutOff::None),
                variant("queue", |options| options.cut_off = CutOff::Queue),
                variant("depth", |options| options.cut_off = CutOff::Depth(depth)),
                variant("adaptive", |options| options.cut_off = CutOff::Adaptive),
            ]
        },
    },
    Figure {
        number: 9,
        title: "Speed-up with synchronous stealing, where a rank waits for what it steals, and \
                with asynchronous, where it runs its last tasks meanwhile; both adaptive.",
        paper: "async is faster for floorplan, nqueens and uts, slower for sparselu, and the \
                same for fib and strassen.",
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
        title: "Speed-up of what HotSLAW does (synchronous stealing, as many tasks as find room \
                in the queue) and of AsynchWS (asynchronous, adaptive).",
        paper: "AsynchWS is 1.16 times as fast for floorplan, 1.06 for nqueens, 1.14 for uts, \
                1.11 for strassen, and a little slower for sparselu and fib.",
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
