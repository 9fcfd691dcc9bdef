//! Reads a snapshot.

use purloin_trace::live::{Snapshot, VERSION};
use serde::Deserialize;

/// Why a line cannot be read as a snapshot.
#[derive(Debug)]
pub enum ReadError {
    /// The program writes another version of the format.
    Version(u64),
    /// The line is no snapshot.
    Syntax(serde_json::Error),
}

/// Reads a snapshot from a line that [`Snapshot::to_line`] has written.
///
/// # Errors
///
/// Returns an error if the line has another version, or is no snapshot.
pub fn read(line: &str) -> Result<Snapshot, ReadError> {
    #[derive(Deserialize)]
    struct Header {
        version: u64,
    }

    let header: Header = serde_json::from_str(line).map_err(ReadError::Syntax)?;
    if header.version != VERSION {
        return Err(ReadError::Version(header.version));
    }
    serde_json::from_str(line).map_err(ReadError::Syntax)
}

#[cfg(test)]
mod tests {
    use super::*;
    use purloin_trace::ProcessorTime;
    use purloin_trace::live::{Does, Pool, Stuck, Times, Worker};

    #[test]
    fn a_snapshot_reads_back_as_it_was_written() {
        let all = [
            Does::Sleeps,
            Does::Searches,
            Does::Runs,
            Does::WaitsForTask(7),
            Does::WaitsForScope,
            Does::WaitsForOther,
        ];
        let busy = Worker {
            since: u64::MAX,
            tasks: 3,
            span: Some("sum \"it\"\n".into()),
            processor: Some(ProcessorTime { ran: 1, waited: 2 }),
            times: Times {
                running: 3,
                searching: 4,
                asleep: 5,
                waiting: 6,
            },
            counts: [("steals".into(), 9)].into(),
            ..Worker::default()
        };
        let worker = |does| Worker {
            does,
            ..busy.clone()
        };
        let pool = Pool {
            id: 1,
            regular: 5,
            spares: 128,
            waiting: 2,
            stuck: Some(Stuck {
                nanoseconds: 10,
                reason: "It waits.".into(),
            }),
            workers: all.map(worker).into(),
        };
        let snapshot = Snapshot {
            program: "</fib>".into(),
            process: 4_000_000_000,
            pools: vec![pool, Pool::default()],
        };
        let line = snapshot.to_line();
        assert_eq!(line.find('\n'), Some(line.len() - 1));
        assert_eq!(read(&line).unwrap(), snapshot);
    }

    #[test]
    fn another_version_is_not_read() {
        let line = r#"{"version":2,"program":7}"#;
        assert!(matches!(read(line), Err(ReadError::Version(2))));
        for line in ["", "{}", r#"{"version":1}"#] {
            let result = read(line);
            assert!(matches!(result, Err(ReadError::Syntax(_))), "{line}");
        }
    }
}
