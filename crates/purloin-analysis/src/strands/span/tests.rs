//! Tests of work and span.

use super::*;

fn size(costs: [f64; COSTS], strands: &[(Mark, f64)], last: f64) -> (Size, u64) {
    let mut evaluator = Evaluator::new(costs);
    for &(mark, ticks) in strands {
        evaluator.push(ticks, Some(mark), Place::ROOT);
    }
    evaluator.push(last, Some(Mark::End), Place::ROOT);
    assert_path_adds_up(&evaluator);
    evaluator.result()
}

#[test]
fn a_join_spans_the_longer_closure_and_a_steal_unless_serial_is_faster() {
    use Mark::*;
    let join = [(Join, 1.0), (Second, 10.0), (Joined, 4.0)];
    let (size, tasks) = size([0.0, 3.0], &join, 2.0);
    assert_eq!((size.work, tasks), (17.0, 1));
    assert_eq!(size.spans, [13.0, 16.0]);
    let (dear, _) = self::size([0.0, 100.0], &join, 2.0);
    assert_eq!(dear.spans, [13.0, 17.0]);
}

#[test]
fn joins_nest() {
    use Mark::*;
    let nested = [
        (Join, 0.0),
        (Join, 1.0),
        (Second, 5.0),
        (Joined, 5.0),
        (Second, 1.0),
        (Joined, 20.0),
    ];
    let (size, tasks) = size([0.0, 1.0], &nested, 0.0);
    assert_eq!((size.work, tasks), (32.0, 2));
    assert_eq!(size.spans, [20.0, 21.0]);
}

#[test]
fn spawned_tasks_run_in_parallel_with_the_rest_of_the_frame() {
    use Mark::*;
    let finish = [
        (Finish, 1.0),
        (Spawn, 2.0),
        (Spawned, 10.0),
        (Spawn, 3.0),
        // This task spawns another one.
        (Spawn, 1.0),
        (Spawned, 9.0),
        (Spawned, 1.0),
        (Finished, 4.0),
    ];
    let (size, tasks) = size([0.0, 0.0], &finish, 1.0);
    assert_eq!((size.work, tasks), (32.0, 3));
    // 1, then 2, then 10 in parallel with (3, then 1 + 9 in parallel with 4), then 1.
    assert_eq!(size.spans[0], 1.0 + 2.0 + 13.0 + 1.0);
}

#[test]
fn the_task_of_a_future_runs_in_parallel_until_its_result_is_fetched() {
    use Mark::*;
    let futures = [
        (Future, 1.0),
        (FutureDone, 10.0),
        (Future, 2.0),
        (FutureDone, 30.0),
        // The frame fetches the first result while the second task runs.
        (Got(0), 4.0),
        (Join, 5.0),
        (Second, 1.0),
        (Joined, 1.0),
        (Got(1), 1.0),
    ];
    let (size, tasks) = size([0.0, 100.0], &futures, 2.0);
    assert_eq!((size.work, tasks), (57.0, 3));
    // The second task begins at 3.
    assert_eq!(size.spans, [3.0 + 30.0 + 2.0, 57.0]);
    // The first task begins at 1. Then come 5, 1 and 1, and the second task is done already.
    let fast = futures.map(|(mark, ticks)| (mark, ticks.min(10.0)));
    let (size, _) = self::size([0.0, 3.0], &fast, 2.0);
    assert_eq!(size.spans[0], 1.0 + 10.0 + 5.0 + 1.0 + 1.0 + 2.0);
    // The steal of the first task costs 3. The second closure is not stolen. From 3 on, the
    // second task takes 10 and the rest takes 19.
    assert_eq!(size.spans[1], 3.0 + 19.0 + 3.0 + 2.0);
}

#[test]
fn a_task_of_a_scope_further_out_delays_only_that_scope() {
    use Mark::*;
    // The first closure of a join spawns a task in the finish around the join.
    let spawn = [
        (Finish, 1.0),
        (Join, 1.0),
        (OuterSpawn(1), 1.0),
        (Spawned, 10.0),
        (Second, 1.0),
        (Joined, 1.0),
        (Finished, 8.0),
    ];
    let (size, tasks) = size([0.0, 3.0], &spawn, 1.0);
    assert_eq!((size.work, tasks), (24.0, 2));
    // The task runs from 3 to 13, and the body until 12, or until 13 if the join runs serially.
    assert_eq!(size.spans, [14.0, 13.0 + 3.0 + 1.0]);
    // The body gets the result of a future of that scope after 8.
    let future = [
        (Finish, 1.0),
        (Join, 1.0),
        (OuterFuture(1), 1.0),
        (FutureDone, 10.0),
        (Second, 1.0),
        (Joined, 1.0),
        (Got(0), 8.0),
        (Finished, 5.0),
    ];
    let (size, _) = self::size([0.0, 0.0], &future, 1.0);
    assert_eq!(size.spans[0], 13.0 + 5.0 + 1.0);
}

#[test]
fn a_loop_counts_as_no_task() {
    use Mark::*;
    let mut evaluator = Evaluator::new([0.0; COSTS]);
    for mark in [Split, Join, Second, Joined, Second, Joined, End] {
        evaluator.push(1.0, Some(mark), Place::ROOT);
    }
    let (size, tasks) = evaluator.result();
    assert_eq!((tasks, evaluator.splits()), (1, 1));
    assert_eq!((size.work, size.spans[0]), (7.0, 5.0));
}

#[test]
fn another_frame_may_wait_for_a_future() {
    use Mark::*;
    let futures = [
        (Future, 0.0),
        (FutureDone, 10.0),
        (Join, 0.0),
        (Got(0), 1.0),
        (Second, 10.0),
        (Joined, 0.0),
    ];
    let (size, _) = size([0.0, 1.0], &futures, 0.0);
    assert_eq!(size.spans, [20.0, 21.0]);
    // If no frame fetches the result, the future's own frame waits, and pays for the steal.
    let (size, _) = self::size([0.0, 1.0], &futures[..2], 5.0);
    assert_eq!(size.spans, [10.0, 11.0]);
}
/// Checks that the path takes as long as the span, and in no place longer than all strands there.
fn assert_path_adds_up(evaluator: &Evaluator) {
    let times = evaluator.times_on_path();
    let on_path: f64 = times.iter().map(|(_, ticks)| ticks).sum();
    let span = evaluator.result().0.spans[FOLLOWED];
    let least = 1e-9 * span.max(1.0);
    assert!((on_path - span).abs() <= least, "{on_path} of {span}");
    for &(place, ticks) in times.iter().filter(|time| time.0 != Place::STEALS) {
        let work = evaluator.work_of(place);
        assert!(
            (-least..=work + least).contains(&ticks),
            "{ticks} of {work} in {place:?}"
        );
    }
}

/// Maximum number of frames within each other in a random program.
const DEPTH: u32 = 4;

/// Writes a random frame of a program. `futures` is the number of futures so far.
fn write_frame(
    random: &mut impl FnMut(u32) -> u32,
    depth: u32,
    strands: &mut Vec<Mark>,
    futures: &mut u32,
) {
    use Mark::*;
    for _ in 0..random(4) {
        let kind = if depth == 0 { 3 } else { random(6) };
        let number = *futures;
        let marks = match kind {
            0 => vec![Join, Second, Joined],
            1 => vec![Finish, Finished],
            2 => vec![Spawn, Spawned],
            5 if depth < DEPTH => vec![OuterSpawn(1 + random(DEPTH - depth)), Spawned],
            5 => vec![],
            3 if number > 0 => vec![Got(random(number))],
            3 => vec![],
            _ => vec![Future, FutureDone],
        };
        *futures += u32::from(kind == 4);
        for (place, &mark) in marks.iter().enumerate() {
            if place > 0 {
                write_frame(random, depth - 1, strands, futures);
            }
            strands.push(mark);
        }
    }
}

#[test]
fn the_times_of_the_critical_path_add_up_to_the_span_in_random_programs() {
    let mut state = 1_u64;
    let mut random = move |below: u32| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((state >> 33) as u32).checked_rem(below).unwrap_or(0)
    };
    let mut forks = 0;
    for _ in 0..if cfg!(miri) { 50 } else { 5000 } {
        let mut marks = Vec::new();
        write_frame(&mut random, DEPTH, &mut marks, &mut 0);
        forks += marks.len();
        let mut evaluator = Evaluator::new([0.0, f64::from(random(20))]);
        let mut open = Vec::new();
        for mark in marks {
            // Some handles are fetched before their futures are done, which no program can do.
            match mark {
                Mark::Future => open.push(evaluator.futures),
                Mark::FutureDone => _ = open.pop(),
                Mark::Got(number) if open.contains(&number) => continue,
                _ => {}
            }
            let place = Place(2 + random(5) as u16);
            evaluator.push(f64::from(random(30)), Some(mark), place);
        }
        evaluator.push(1.0, Some(Mark::End), Place::ROOT);
        assert_path_adds_up(&evaluator);
    }
    assert!(forks > 10_000);
}

/// Returns the times of the critical path in each of these places.
fn path<const N: usize>(strands: &[(Mark, f64, Place)], places: [Place; N]) -> [f64; N] {
    let mut evaluator = Evaluator::new([0.0, 2.0]);
    for &(mark, ticks, place) in strands {
        evaluator.push(ticks, Some(mark), place);
    }
    evaluator.push(0.0, Some(Mark::End), Place::ROOT);
    assert_path_adds_up(&evaluator);
    let times = evaluator.times_on_path().iter();
    places.map(|place| {
        times
            .clone()
            .find(|time| time.0 == place)
            .map_or(0.0, |time| time.1)
    })
}

#[test]
fn the_critical_path_leads_through_the_longer_closure() {
    use Mark::*;
    let [root, steals, a, b] = [Place::ROOT, Place::STEALS, Place(2), Place(3)];
    let join = |first, second| {
        path(
            &[(Join, 1.0, root), (Second, first, a), (Joined, second, b)],
            [root, steals, a, b],
        )
    };
    assert_eq!(join(10.0, 4.0), [1.0, 2.0, 10.0, 0.0]);
    assert_eq!(join(4.0, 10.0), [1.0, 2.0, 0.0, 10.0]);
    // No thief should steal a task of one tick.
    assert_eq!(join(10.0, 1.0), [1.0, 0.0, 10.0, 1.0]);
}

#[test]
fn the_critical_path_leads_through_a_future_and_not_through_what_its_maker_did_before_the_get() {
    use Mark::*;
    let [root, a, b] = [Place::ROOT, Place(2), Place(3)];
    // The second future is shorter than what follows it. It is still open when the frame fetches the first one.
    let strands = [
        (Future, 1.0, root),
        (FutureDone, 20.0, a),
        (Future, 5.0, root),
        (FutureDone, 3.0, b),
        (Got(0), 6.0, root),
    ];
    assert_eq!(
        path(&strands, [root, Place::STEALS, a, b]),
        [1.0, 4.0, 20.0, 0.0]
    );
}

#[test]
fn the_critical_path_leads_through_what_the_maker_of_a_future_did_before_it() {
    use Mark::*;
    let [x, f] = [Place(2), Place(3)];
    // The first closure of a join makes a future of the finish around the join, which the second closure fetches.
    let strands = [
        (Finish, 0.0, Place::ROOT),
        (Join, 0.0, Place::ROOT),
        (OuterFuture(1), 50.0, x),
        (FutureDone, 10.0, f),
        (Second, 0.0, x),
        (Got(0), 0.0, Place::ROOT),
        (Joined, 0.0, Place::ROOT),
        (Finished, 0.0, Place::ROOT),
    ];
    assert_eq!(path(&strands, [x, f]), [50.0, 10.0]);
    // The future runs from the time 10 to 110, while its maker goes on to 60.
    let strands = [
        (Future, 10.0, Place::ROOT),
        (FutureDone, 100.0, f),
        (Join, 50.0, x),
        (Got(0), 0.0, x),
        (Second, 0.0, x),
        (Joined, 0.0, x),
    ];
    assert_eq!(path(&strands, [Place::ROOT, x, f]), [10.0, 0.0, 100.0]);
}
