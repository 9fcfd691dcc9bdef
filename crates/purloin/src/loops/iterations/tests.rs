use super::super::{Reversed, ReversibleIterations, Stepped};
use super::*;
use crate::Worker;

fn all<I: Iterations>(mut iterations: I) -> Vec<I::Item> {
    let len = iterations.remaining();
    iterations.strip(len).collect()
}

/// Splits at each place, and compares the parts with the whole.
fn check<I: Iterations + Clone>(iterations: I)
where
    I::Item: PartialEq + std::fmt::Debug,
{
    let expected = all(iterations.clone());
    assert_eq!(iterations.remaining(), expected.len());
    for index in 0..=expected.len() {
        let (front, back) = iterations.clone().split_at(index);
        assert_eq!(
            (front.remaining(), back.remaining()),
            (index, expected.len() - index)
        );
        let mut both = all(front);
        both.extend(all(back));
        assert_eq!(both, expected);
    }
}

#[test]
fn ranges_can_be_split_anywhere() {
    check(0..0);
    check(3_u8..10);
    check(u64::MAX - 3..u64::MAX);
    check(u64::MAX - 3..=u64::MAX);
    check(i64::MIN..i64::MIN + 3);
    check(i128::MAX - 3..=i128::MAX);
    #[allow(clippy::reversed_empty_ranges)]
    check(5..3);
}

/// Checks what [`check`] checks, of iterations that cannot be cloned, and strips as well.
fn check_all<I: Iterations>(make: impl Fn() -> I, expected: &[I::Item])
where
    I::Item: PartialEq + std::fmt::Debug,
{
    assert_eq!(all(make()), expected);
    for index in 0..=expected.len() {
        let (front, back) = make().split_at(index);
        assert_eq!(front.remaining() + back.remaining(), expected.len());
        assert_eq!((&all(front)[..], &all(back)[..]), expected.split_at(index));
        let mut rest = make();
        let strip: Vec<_> = rest.strip(index).collect();
        assert_eq!(rest.remaining(), expected.len() - index);
        assert_eq!((&strip[..], &all(rest)[..]), expected.split_at(index));
    }
}

#[test]
fn iterations_may_run_backwards() {
    use super::super::{chunks, chunks_mut, reversed};

    fn rev<I: IntoIterations<Iterations: ReversibleIterations>>(
        items: I,
    ) -> Reversed<I::Iterations> {
        reversed(items.into_iterations())
    }
    let numbers = [1, 2, 3, 4, 5];
    check_all(|| rev(-2..3), &[2, 1, 0, -1, -2]);
    check_all(
        || rev(i8::MIN..i8::MAX),
        &(i8::MIN..i8::MAX).rev().collect::<Vec<_>>(),
    );
    check_all(|| rev(&numbers), &numbers.iter().rev().collect::<Vec<_>>());
    check_all(|| rev(vec![1, 2, 3]), &[3, 2, 1]);
    check_all(|| rev(chunks(&numbers, 2)), &[&[5][..], &[3, 4], &[1, 2]]);
    check_all(|| rev(1..=3), &[3, 2, 1]);
    check_all(|| rev(253..=u8::MAX), &[255, 254, 253]);
    let mut numbers = numbers;
    crate::Serial.for_each((0.., rev(&mut numbers)), |(i, n)| *n += 10 * i);
    assert_eq!(numbers, [41, 32, 23, 14, 5]);
    crate::Serial.for_each((0.., rev(chunks_mut(&mut numbers, 3))), |(i, part)| {
        part[0] = i
    });
    assert_eq!(numbers, [1, 32, 23, 0, 5]);
}

fn step_by<I: IntoIterations<Iterations: ExactIterations>>(
    items: I,
    step: usize,
) -> Stepped<I::Iterations> {
    Stepped::new(items.into_iterations(), step)
}

#[test]
#[should_panic = "fewer than"]
fn steps_need_iterations_that_can_be_counted() {
    step_by(0..=u64::MAX, 1 << 62);
}

#[test]
fn iterations_may_leave_others_out() {
    use super::super::{chunks_exact, chunks_exact_mut, reversed, windows};

    let numbers = [1, 2, 3, 4, 5];
    check_all(|| step_by(0..10, 3), &[0, 3, 6, 9]);
    check_all(|| step_by(0..9, 3), &[0, 3, 6]);
    check_all(|| step_by(0..0, 3), &[]);
    check_all(|| step_by(&numbers, usize::MAX), &[&1]);
    check_all(
        || windows(&numbers, 3),
        &[&[1, 2, 3][..], &[2, 3, 4], &[3, 4, 5]],
    );
    check_all(|| windows(&numbers, 6), &[]);
    check_all(
        || reversed(windows(&numbers, 3)),
        &[&[3, 4, 5][..], &[2, 3, 4], &[1, 2, 3]],
    );
    check_all(|| reversed(windows(&numbers, 6)), &[]);
    check_all(|| chunks_exact(&numbers, 2), &[&[1, 2][..], &[3, 4]]);
    check_all(|| chunks_exact(&numbers, 9), &[]);
    let mut numbers = numbers;
    assert_eq!(chunks_exact_mut(&mut numbers, 2).remaining(), 2);
}

#[test]
fn tuples_run_in_step() {
    let (a, b) = ([1, 2, 3], ["x", "y", "z"]);
    check_all(
        || (0..9, &b).into_iterations(),
        &[(0, &"x"), (1, &"y"), (2, &"z")],
    );
    check_all(
        || (0.., &a, &b[..2]).into_iterations(),
        &[(0, &1, &"x"), (1, &2, &"y")],
    );
    check_all(
        || (&a, 5.., a, vec![7, 8]).into_iterations(),
        &[(&1, 5, 1, 7), (&2, 6, 2, 8)],
    );
}

#[test]
fn collections_are_iterations() {
    use std::collections::*;

    let numbers = [1, 2, 3];
    let references = [&1, &2, &3];
    check_all(|| numbers.into_iterations(), &numbers);
    check_all(|| numbers.to_vec().into_iterations(), &numbers);
    check_all(|| Box::<[i32]>::from(numbers).into_iterations(), &numbers);
    check_all(|| vec![(); 3].into_iterations(), &[(); 3]);
    check_all(
        || numbers.map(|n| n.to_string()).into_iterations(),
        &["1", "2", "3"].map(String::from),
    );

    let mut deque = VecDeque::from(numbers);
    deque.rotate_left(1);
    check_all(|| deque.clone().into_iterations(), &[2, 3, 1]);
    check_all(|| (&deque).into_iterations(), &[&2, &3, &1]);
    let list = LinkedList::from(numbers);
    check_all(|| list.clone().into_iterations(), &numbers);
    check_all(|| (&list).into_iterations(), &references);
    let set = BTreeSet::from(numbers);
    check_all(|| set.clone().into_iterations(), &numbers);
    check_all(|| (&set).into_iterations(), &references);
    let map = BTreeMap::from(numbers.map(|n| (n, -n)));
    check_all(
        || map.clone().into_iterations(),
        &[(1, -1), (2, -2), (3, -3)],
    );
    check_all(
        || (&map).into_iterations(),
        &[(&1, &-1), (&2, &-2), (&3, &-3)],
    );

    let (mut deque, mut map, mut list) = (deque, map, list);
    crate::Serial.for_each((&mut deque, &mut map, &mut list), |(a, (_, b), c)| {
        (*a, *b, *c) = (1, 1, 1);
    });
    assert_eq!(deque, [1, 1, 1]);
    assert!(map.values().chain(&list).all(|&n| n == 1));

    let set = HashSet::from(numbers);
    let sum = |set| {
        crate::Serial
            .par(set)
            .fold(|| 0, |sum, n: i32| sum + n, |a, b| a + b)
    };
    assert_eq!(sum(set.clone()), 6);
    assert_eq!((&set).into_iterations().remaining(), 3);
    let mut map = HashMap::from(numbers.map(|n| (n, -n)));
    crate::Serial.for_each(&mut map, |(key, value)| *value += key);
    assert!(crate::Serial.par(&map).all(|(_, value)| *value == 0));
    assert_eq!(map.into_iterations().remaining(), 3);
    let heap = BinaryHeap::from(numbers);
    assert_eq!((&heap).into_iterations().remaining(), 3);
    assert_eq!(crate::Serial.map_reduce(heap, |n| n, i32::max), Some(3));
}

#[test]
fn values_that_no_iteration_takes_are_dropped() {
    use std::sync::Arc;

    let counted = Arc::new(());
    let many = || vec![Arc::clone(&counted); 10];
    drop(many().into_iterations());
    let (front, mut back) = many().into_iterations().split_at(3);
    assert_eq!(back.strip(4).take(2).count(), 2);
    assert_eq!(Arc::strong_count(&counted), 1 + 3 + 3);
    drop(front);
    assert_eq!(Arc::strong_count(&counted), 1 + 3);
    drop(back.strip_back(2).next());
    drop(back);
    assert_eq!(Arc::strong_count(&counted), 1);
    assert!(crate::Serial.par((0.., many())).any(|(i, _)| i == 4));
    assert_eq!(Arc::strong_count(&counted), 1);
}

#[test]
#[cfg_attr(miri, ignore = "it takes a minute")]
fn ranges_of_all_bytes_can_be_split_anywhere() {
    check(i8::MIN..i8::MAX);
    check(i8::MIN..=i8::MAX);
    check(0..=u8::MAX);
}

#[test]
fn the_longest_ranges_have_halves() {
    let (front, back) = (i64::MIN..i64::MAX).split_at(1 << 63);
    assert_eq!((front, back), (i64::MIN..0, 0..i64::MAX));
    let all = 0..=u64::MAX;
    assert_eq!(all.remaining(), usize::MAX);
    assert_eq!(
        all.split_at(1 << 63),
        (0..=(1 << 63) - 1, 1 << 63..=u64::MAX)
    );
    assert_eq!((0..u128::MAX).remaining(), usize::MAX);
    let (front, back) = (1..=u64::MAX).split_at(usize::MAX);
    assert_eq!((front.remaining(), back.remaining()), (usize::MAX, 0));
}

#[test]
fn an_inclusive_range_that_was_used_up_is_empty() {
    let mut range = 0..=u8::MAX;
    while range.next().is_some() {}
    assert_eq!(range.remaining(), 0);
}
