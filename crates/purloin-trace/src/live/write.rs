//! Writes a snapshot.

use super::{Does, Pool, Snapshot, Times, VERSION, Worker};
use crate::json::Json;

impl Snapshot {
    /// Returns the snapshot as one line of JSON, with the line's end.
    pub fn to_line(&self) -> String {
        let mut json = Json::new();
        json.object(|json| {
            json.member("version").plain(VERSION);
            json.member("program").string(&self.program);
            json.member("process").plain(self.process);
            json.member("pools").array(|json| {
                self.pools.iter().for_each(|pool| write_pool(json, pool));
            });
        });
        json.into_text() + "\n"
    }
}

fn write_pool(json: &mut Json, pool: &Pool) {
    json.object(|json| {
        json.member("id").plain(pool.id);
        json.member("regular").plain(pool.regular);
        json.member("spares").plain(pool.spares);
        json.member("waiting").plain(pool.waiting);
        if let Some(stuck) = &pool.stuck {
            json.member("stuck").object(|json| {
                json.member("nanoseconds").plain(stuck.nanoseconds);
                json.member("reason").string(&stuck.reason);
            });
        }
        json.member("workers").array(|json| {
            let workers = pool.workers.iter();
            workers.for_each(|worker| write_worker(json, worker));
        });
    });
}

fn write_worker(json: &mut Json, worker: &Worker) {
    json.object(|json| {
        write_does(json.member("does"), worker.does);
        json.member("since").plain(worker.since);
        json.member("tasks").plain(worker.tasks);
        if let Some(span) = &worker.span {
            json.member("span").string(span);
        }
        if let Some(processor) = worker.processor {
            json.member("processor").object(|json| {
                json.member("ran").plain(processor.ran);
                json.member("waited").plain(processor.waited);
            });
        }
        let Times {
            running,
            searching,
            asleep,
            waiting,
        } = worker.times;
        json.member("times").object(|json| {
            json.member("running").plain(running);
            json.member("searching").plain(searching);
            json.member("asleep").plain(asleep);
            json.member("waiting").plain(waiting);
        });
        json.member("counts").object(|json| {
            for (name, count) in &worker.counts {
                json.member(name).plain(count);
            }
        });
    });
}

fn write_does(json: &mut Json, does: Does) {
    match does {
        Does::Sleeps => json.string("sleeps"),
        Does::Searches => json.string("searches"),
        Does::Runs => json.string("runs"),
        Does::WaitsForTask(worker) => {
            json.object(|json| json.member("waits_for_task").plain(worker))
        }
        Does::WaitsForScope => json.string("waits_for_scope"),
        Does::WaitsForOther => json.string("waits_for_other"),
    }
}
