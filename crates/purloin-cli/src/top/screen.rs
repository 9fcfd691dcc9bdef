//! The terminal: draws the figures, and obeys keys.
//!
//! The terminal gets its old picture and mode back at the end, after an error, after a panic, and after a signal that
//! asks this command to end.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use purloin_command::Failure;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::Modifier;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::figures::Figures;
use super::picture;
use super::programs::{Look, Lost, Program};

/// Time to wait for an answer. During this time, keys have no effect.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum time in which no signal is noticed.
const TICK: Duration = Duration::from_millis(200);

/// Why the screen ends.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// The user wants it.
    Quit,
    /// The program has ended.
    Program,
}

/// Shows a program until it ends or the user quits.
pub fn watch(program: &Program, interval: Duration) -> Result<End, Failure> {
    listen_to_signals();
    let terminal = ratatui::try_init();
    let end = terminal.and_then(|mut terminal| {
        let mut screen = Screen::new(interval);
        let mut next = Instant::now();
        loop {
            if Instant::now() >= next {
                next = Instant::now() + interval;
                if !screen.is_paused && screen.update(program.look(ANSWER_TIMEOUT), program) {
                    return Ok(End::Program);
                }
            }
            terminal.draw(|frame| screen.draw(frame))?;
            let time = next.saturating_duration_since(Instant::now()).min(TICK);
            let is_over = match event::poll(time)? {
                true => screen.obey(&event::read()?),
                false => false,
            };
            if is_over || IS_OVER.load(Ordering::Relaxed) {
                return Ok(End::Quit);
            }
        }
    });
    ratatui::restore();
    end.map_err(|error: io::Error| {
        Failure::Run(format!(
            "cannot use the terminal: {error}; --once prints the figures as text"
        ))
    })
}

/// Whether a signal asks this command to end.
static IS_OVER: AtomicBool = AtomicBool::new(false);

fn listen_to_signals() {
    extern "C" fn end(_: libc::c_int) {
        IS_OVER.store(true, Ordering::Relaxed);
    }

    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let handler: extern "C" fn(libc::c_int) = end;
        // SAFETY: the handler only stores an atomic value, which a signal handler may do.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
}

/// The state of the screen.
struct Screen {
    interval: Duration,
    is_paused: bool,
    /// Number of lines about pools above the first one that is shown.
    scrolled: usize,
    /// Number of lines about pools that fit, in the last picture.
    height: usize,
    last: Option<Look>,
    figures: Option<Figures>,
    /// Why the figures are old.
    problem: Option<String>,
}

impl Screen {
    fn new(interval: Duration) -> Screen {
        Screen {
            interval,
            is_paused: false,
            scrolled: 0,
            height: 0,
            last: None,
            figures: None,
            problem: None,
        }
    }

    /// Takes a new snapshot of the program. Returns whether the program has ended.
    fn update(&mut self, look: Result<Look, Lost>, program: &Program) -> bool {
        match look {
            Ok(look) => {
                self.figures = Some(match &self.last {
                    Some(last) => Figures::between(last, &look),
                    None => Figures::so_far(&look),
                });
                self.last = Some(look);
                self.problem = None;
            }
            Err(Lost::Ended) => return true,
            Err(lost) => self.problem = Some(program.explain(&lost)),
        }
        false
    }

    /// Obeys a key. Returns whether the user quits.
    fn obey(&mut self, event: &Event) -> bool {
        // After another event, such as a new size, the picture is drawn again.
        let Event::Key(KeyEvent {
            code, modifiers, ..
        }) = *event
        else {
            return false;
        };
        let page = self.height.max(1);
        match code {
            KeyCode::Char('c') if modifiers.contains(KeyModifiers::CONTROL) => return true,
            KeyCode::Char('q') | KeyCode::Esc => return true,
            KeyCode::Char('p' | ' ') => self.is_paused = !self.is_paused,
            KeyCode::Up => self.scrolled = self.scrolled.saturating_sub(1),
            KeyCode::Down => self.scrolled += 1,
            KeyCode::PageUp => self.scrolled = self.scrolled.saturating_sub(page),
            KeyCode::PageDown => self.scrolled += page,
            KeyCode::Home => self.scrolled = 0,
            KeyCode::End => self.scrolled = usize::MAX,
            _ => (),
        }
        false
    }

    fn draw(&mut self, frame: &mut Frame) {
        let rows = [
            Constraint::Length(1),
            Constraint::Min(0),
            Constraint::Length(1),
        ];
        let [top, middle, bottom] = Layout::vertical(rows).areas(frame.area());
        self.height = middle.height.into();
        let Some(figures) = &self.figures else {
            let text = self
                .problem
                .as_deref()
                .unwrap_or("Waiting for the program …");
            return frame.render_widget(text, top);
        };
        let mut header = picture::header(figures);
        if self.is_paused {
            header.push_span(", paused");
        }
        frame.render_widget(header, top);
        let lines = match &self.problem {
            Some(problem) => vec![Line::default(), Line::from(problem.clone())],
            None => picture::body(figures, middle.width.into()),
        };
        let last = lines.len().saturating_sub(self.height);
        self.scrolled = self.scrolled.min(last);
        let shown: Vec<_> = lines
            .into_iter()
            .skip(self.scrolled)
            .take(self.height)
            .collect();
        frame.render_widget(Paragraph::new(shown), middle);
        let scroll = if last > 0 {
            "  ↑↓ PgUp PgDn scroll"
        } else {
            ""
        };
        let help = format!(
            "q quit  p pause{scroll}  every {} s   {}",
            self.interval.as_secs_f64(),
            picture::LEGEND
        );
        frame.render_widget(Line::styled(help, Modifier::DIM), bottom);
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
