//! Parallelism within parallelism, in the forms that a program may choose: a tree of joins, loops within loops, and
//! spawns.

use std::hint::black_box;

use purloin_user::programs::queens::{self, Bits};
use purloin_user::programs::skynet::{self, answer};

use crate::Row;
use crate::contestants::timed;

pub const ROWS: &[Row] = &[
    Row {
        what: "12 queens, joins",
        ideal: None,
        workers: 1,
        contestants: &[
            ("serial", |_| {
                timed(WAYS, || queens::serial(Bits::<12>::default()))
            }),
            ("token", |pools| {
                timed(WAYS, || {
                    pools
                        .purloin
                        .run(|w| queens::token(w, Bits::<12>::default()))
                })
            }),
            ("free", |pools| {
                timed(WAYS, || {
                    pools.purloin.run(|_| queens::free(Bits::<12>::default()))
                })
            }),
            ("chili", |pools| {
                timed(WAYS, || {
                    queens::chili(&mut pools.chili.scope(), Bits::<12>::default())
                })
            }),
            ("rayon", |pools| {
                timed(WAYS, || {
                    pools.rayon.install(|| queens::rayon(Bits::<12>::default()))
                })
            }),
        ],
    },
    Row {
        what: "12 queens, loops in loops",
        ideal: None,
        workers: 1,
        contestants: &[
            ("serial", |_| {
                timed(WAYS, || queens::serial(Bits::<12>::default()))
            }),
            ("token", |pools| {
                timed(WAYS, || {
                    pools
                        .purloin
                        .run(|w| queens::loops(w, Bits::<12>::default()))
                })
            }),
            ("free", |pools| {
                timed(WAYS, || {
                    pools
                        .purloin
                        .run(|_| queens::loops_free(Bits::<12>::default()))
                })
            }),
            ("rayon", |pools| {
                timed(WAYS, || {
                    pools
                        .rayon
                        .install(|| queens::loops_rayon(Bits::<12>::default()))
                })
            }),
        ],
    },
    Row {
        what: "skynet, 10^6 leaves, spawns",
        ideal: None,
        workers: 1,
        contestants: &[
            ("serial", |_| {
                timed(answer(LEAVES), || skynet::serial(0, black_box(LEAVES)))
            }),
            ("token", |pools| {
                timed(answer(LEAVES), || {
                    pools.purloin.run(|w| skynet::spawns(w, 0, LEAVES))
                })
            }),
            ("free", |pools| {
                timed(answer(LEAVES), || {
                    pools.purloin.run(|_| skynet::spawns_free(0, LEAVES))
                })
            }),
            ("rayon", |pools| {
                timed(answer(LEAVES), || {
                    pools.rayon.install(|| skynet::spawns_rayon(0, LEAVES))
                })
            }),
        ],
    },
];

const WAYS: u64 = 14_200;
const LEAVES: u64 = 1_000_000;
