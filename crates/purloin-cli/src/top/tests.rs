//! Tests of what the screen shows.

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::super::figures::{PoolFigures, Shares, State, Stuck, WorkerFigures};
use super::*;

fn worker(number: usize, state: State, shares: Shares) -> WorkerFigures {
    WorkerFigures {
        number,
        is_spare: number >= 3,
        state,
        waits_for_worker: (state == State::WaitsForTask).then_some(0),
        state_seconds: 83.0,
        shares,
        processor_share: Some(0.5),
        steals_per_second: 1234.0,
        attempts_per_second: 2000.0,
        tasks: 7,
        span: (number == 0).then(|| "up\x1bdate".into()),
    }
}

fn figures() -> Figures {
    let busy = Shares {
        running: 0.5,
        without_processor: 0.1,
        blocked: 0.2,
        waiting: 0.2,
        ..Shares::default()
    };
    let idle = Shares {
        searching: 0.25,
        asleep: 0.75,
        ..Shares::default()
    };
    Figures {
        program: "server".into(),
        pid: 1234,
        seconds: 1.0,
        pools: vec![PoolFigures {
            id: 1,
            regular_workers: 3,
            max_spare_workers: 128,
            waiting: 2,
            idle_share: 0.333,
            steals_per_second: 5.0,
            stuck: Some(Stuck {
                seconds: 12.0,
                likely_reason: "One worker is blocked. All others wait for it.".into(),
            }),
            workers: vec![
                worker(0, State::Runs, busy),
                worker(1, State::WaitsForTask, busy),
                worker(2, State::Sleeps, idle),
                worker(3, State::Blocked, busy),
                worker(4, State::Sleeps, idle),
            ],
        }],
    }
}

fn screen() -> Screen {
    let mut screen = Screen::new(Duration::from_secs(1));
    screen.figures = Some(figures());
    screen
}

/// Returns the lines on a terminal of this size.
fn drawn(screen: &mut Screen, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let row =
        |row: &[ratatui::buffer::Cell]| row.iter().map(|cell| cell.symbol()).collect::<String>();
    let rows = buffer.content().chunks(width.into()).map(row);
    rows.map(|row| row.trim_end().into()).collect()
}

fn press(screen: &mut Screen, code: KeyCode) -> bool {
    screen.obey(&Event::Key(code.into()))
}

#[test]
fn the_picture_says_what_each_worker_does_and_what_blocks() {
    let lines = drawn(&mut screen(), 120, 12);
    let expected = [
        "server  process 1234, 1 pool, last 1.0 s",
        "",
        "pool 1: 3 workers, idle 33 %, 5.0 steals/s, 2 calls or jobs wait outside, 2 of 128 spare workers started",
        "  No progress for 12.0 s. One worker is blocked. All others wait for it.",
        "  worker   state      time                   cpu  steals/s   tasks  for how long, and where",
        "         0  R runs     RRRRRRRRRRPPLLLLWWWW  50 %     1,234       7  1 min 23 s, in \"up?date\"",
        "         1  W waits    RRRRRRRRRRPPLLLLWWWW  50 %     1,234       7  1 min 23 s, for a task that worker 0 runs",
        "         2  z sleeps   ssssszzzzzzzzzzzzzzz  50 %     1,234       7  1 min 23 s",
        "  spare  3  L blocked  RRRRRRRRRRPPLLLLWWWW  50 %     1,234       7  1 min 23 s",
        "",
        "",
    ];
    assert_eq!(lines[..11], expected);
    assert!(lines[11].starts_with("q quit  p pause  every 1 s   R runs, P"));
}

#[test]
fn a_small_terminal_scrolls_and_none_is_too_small() {
    let mut screen = screen();
    let first = |screen: &mut Screen| drawn(screen, 40, 5).swap_remove(1);
    assert_eq!(first(&mut screen), "");
    press(&mut screen, KeyCode::Down);
    assert!(first(&mut screen).starts_with("pool 1"));
    press(&mut screen, KeyCode::PageDown);
    assert!(first(&mut screen).starts_with("  worker "));
    press(&mut screen, KeyCode::End);
    assert_eq!(
        drawn(&mut screen, 40, 5)[3],
        "  spare  3  L blocked  RRRRRRRRRRPPLLLLW"
    );
    press(&mut screen, KeyCode::Home);
    assert_eq!(first(&mut screen), "");
    for (width, height) in [(1, 1), (1, 9), (9, 1), (2, 2), (3, 3), (500, 2)] {
        drawn(&mut screen, width, height);
        press(&mut screen, KeyCode::PageDown);
    }
}

#[test]
fn keys_pause_and_quit() {
    let mut screen = screen();
    assert!(!press(&mut screen, KeyCode::Char('p')));
    assert!(drawn(&mut screen, 80, 9)[0].ends_with("last 1.0 s, paused"));
    assert!(!press(&mut screen, KeyCode::Char(' ')));
    assert!(drawn(&mut screen, 80, 9)[0].ends_with("last 1.0 s"));
    assert!(!press(&mut screen, KeyCode::Char('c')));
    assert!(!screen.obey(&Event::Resize(1, 1)));
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert!(screen.obey(&Event::Key(control_c)));
    assert!(press(&mut screen, KeyCode::Char('q')));
    assert!(press(&mut screen, KeyCode::Esc));
}

#[test]
fn text_needs_no_terminal() {
    let text = picture::text(&figures());
    assert!(text.starts_with("server  process 1234"), "{text}");
    assert!(text.ends_with("z sleeps\n"), "{text}");
    assert!(!text.contains('\x1b'), "{text}");
}
