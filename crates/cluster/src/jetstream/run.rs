//! The thread: reads the stream, and appends to it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant as StdInstant};

use async_nats::Client;
use async_nats::jetstream::consumer::pull::{self, MessagesErrorKind};
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy};
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::Stream;
use futures_util::StreamExt;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::Instant;

use super::connection::{Patience, connect, context, look, range};
use super::{Append, FeedWork, Work, leases, nodes, units};
use crate::demands::Watch;
use crate::log::{Bytes, Clock, LogError, LogEvent, LogOptions};
use crate::members::{Mark, Renewal};

/// The pause before the next attempt: the first one, and the longest.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_LAST: Duration = Duration::from_millis(500);
/// Interval at which the servers say that there is no new entry. After twice this time without a word from them, the consumer is made again: it
/// lives in one of the servers, and dies with it.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// Interval at which the servers are asked for the end of the log, so that a node which applies slowly knows how far it is behind. After this
/// time without entries it also finds a damaged server, which says that it lives, and tells nothing.
const LOOK: Duration = Duration::from_secs(10);
/// Time after which the servers are asked for entries again, even if none came.
const PULL_EXPIRES: Duration = Duration::from_secs(30);
/// Entries that are asked for at once.
const PULL_ENTRIES: usize = 500;
/// Time after which the servers forget a consumer that nobody asks.
const CONSUMER_FORGOTTEN: Duration = Duration::from_secs(60);
/// Time after which an entry that was not acknowledged makes the log count as not reachable.
const QUIET: Duration = Duration::from_secs(5);
/// Pause before a mark that was not put is put again.
const MARK_PAUSE: Duration = Duration::from_secs(5);
/// Interval at which a mark is put again while the log keeps what should leave it: `cluster leave' may have changed that.
const KEPT_PAUSE: Duration = Duration::from_secs(10);
/// Pauses before a mark is put again while another node has to tell its outcome: the first, and the longest to which it doubles. Without
/// further entries nothing else would show it here.
const OUTCOME_PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));
/// Part of the text by which the servers refuse an entry that the log has no room for.
const FULL: &str = "maximum bytes exceeded";
/// Interval at which the servers are asked for their settings while the log is used: one may come back with others.
const WATCH: Duration = Duration::from_secs(30);

/// What the part of the thread needs that serves the lease of the feeds.
pub struct Leasing {
    /// The random number of this process.
    pub process: u64,
    /// The clock of the lease.
    pub clock: Clock,
    /// Its work.
    pub work: UnboundedReceiver<FeedWork>,
}

/// The state that the tasks of the thread share.
struct Shared<T> {
    options: LogOptions,
    tell: T,
    /// Taken when the servers have met the demands for the first time.
    leasing: Cell<Option<Leasing>>,
    /// The reason why the log is not reachable, while it is not.
    down: RefCell<Option<String>>,
    /// The last entry that the servers told of.
    last: Cell<u64>,
    /// Whether entries can be read: then an append that succeeds says that the log is reachable.
    is_read: Cell<bool>,
    /// Whether this process has put a mark.
    is_marked: Cell<bool>,
    /// Counts the marks of this node.
    marks: Cell<u64>,
    /// The wait after the list of the nodes was lost.
    renewal: RefCell<Renewal>,
    /// The reason why the log keeps what should leave it, while it does.
    kept: RefCell<Option<String>>,
    /// The look at the servers while the log is used.
    watch: RefCell<Watch>,
}

impl<T: Fn(LogEvent)> Shared<T> {
    fn is_down(&self, why: String) {
        let mut down = self.down.borrow_mut();
        if down.as_ref() != Some(&why) {
            (self.tell)(LogEvent::Down(why.clone()));
        }
        *down = Some(why);
    }

    /// Notes the reason why the log keeps what should leave it. Returns whether there is one.
    fn is_kept(&self, why: Option<String>) -> bool {
        let mut kept = self.kept.borrow_mut();
        if let Some(why) = why.as_ref().filter(|why| kept.as_ref() != Some(*why)) {
            (self.tell)(LogEvent::Warning(why.clone()));
        }
        *kept = why;
        kept.is_some()
    }

    /// An error of an attempt to append, with the reason why the log is full.
    fn why_not_appended(&self, error: PublishError) -> String {
        let why = LogError::down("cannot append to the log", error).to_string();
        match self.kept.borrow().as_ref() {
            Some(kept) if why.contains(FULL) => format!("{why}: {kept}"),
            _ => why,
        }
    }

    fn is_up(&self, last: u64) {
        let last = self.last.get().max(last);
        self.last.set(last);
        if self.is_read.get() && self.down.borrow_mut().take().is_some() {
            (self.tell)(LogEvent::Ready(last));
        }
    }
}

/// Serves the log until `work` is closed or the log cannot be used any more.
pub async fn run<T: Fn(LogEvent) + 'static>(
    options: LogOptions,
    after: u64,
    (mut work, leasing): (UnboundedReceiver<Work>, Leasing),
    room: Arc<Semaphore>,
    tell: T,
) {
    let shared = Rc::new(Shared {
        options,
        tell,
        leasing: Cell::new(Some(leasing)),
        down: RefCell::new(Some(String::new())),
        last: Cell::new(after),
        is_read: Cell::new(false),
        is_marked: Cell::new(false),
        marks: Cell::new(0),
        renewal: RefCell::default(),
        kept: RefCell::new(None),
        watch: RefCell::default(),
    });
    let mut next = after + 1;
    let mut pause = PAUSE_FIRST;
    let mut client = None;
    loop {
        let serve = async {
            let client = match &client {
                Some(client) => client,
                None => client.insert(connect(&shared.options).await?),
            };
            serve(&shared, client, &mut next, (&mut work, &room)).await
        };
        let done = serve.await;
        if shared.is_read.take() {
            pause = PAUSE_FIRST;
        }
        match done {
            Ok(()) => return,
            Err(LogError::Stopped(why)) => return (shared.tell)(LogEvent::Stopped(why)),
            Err(LogError::Down(why)) => shared.is_down(why),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_LAST);
    }
}

/// Reads entries and appends others, until an error. `Ok`: nobody needs the log any more.
async fn serve<T: Fn(LogEvent) + 'static>(
    shared: &Rc<Shared<T>>,
    client: &Client,
    next: &mut u64,
    (work, room): (&mut UnboundedReceiver<Work>, &Semaphore),
) -> Result<(), LogError> {
    let patience = if shared.watch.borrow().has_mute(StdInstant::now()) {
        Patience::All
    } else {
        Patience::Most
    };
    let (first, last) = look_now(shared, client, patience).await?;
    check_range(*next, first, last)?;
    if let Some(mut leasing) = shared.leasing.take() {
        let (shared, client) = (shared.clone(), client.clone());
        tokio::task::spawn_local(async move {
            let options = (&shared.options, leasing.process);
            let work = (&mut leasing.work, leasing.clock);
            leases::run(options, &client, work, &shared.tell).await;
        });
    }
    let stream = context(client)
        .get_stream_no_info(&shared.options.stream)
        .await
        .map_err(|error| LogError::down("cannot open the stream", error))?;
    let mut entries = read_from(&stream, *next).await?;
    // Entries that this consumer has told.
    let mut told = 0;
    shared.is_read.set(true);
    shared.is_up(last);
    let mut heard = Instant::now();
    let mut look_at = heard + LOOK;
    // The entry that waits until others are applied.
    let mut waiting: Option<Bytes> = None;
    let fault = watch(shared, client);
    tokio::pin!(fault);
    loop {
        let bytes = waiting.as_ref().map(Bytes::len);
        tokio::select! {
            error = &mut fault => return Err(error),
            () = tokio::time::sleep_until(look_at) => {
                look_at = Instant::now() + LOOK;
                let is_silent = waiting.is_none() && heard.elapsed() >= LOOK;
                let last = match range(&shared.options, client).await {
                    Ok((_, last)) => last,
                    // While entries come, only the end of the log is not known.
                    Err(LogError::Down(_)) if !is_silent => continue,
                    Err(error) => return Err(error),
                };
                shared.last.set(shared.last.get().max(last));
                (shared.tell)(LogEvent::End(last));
                if is_silent && last >= *next {
                    return Err(LogError::Down(format!(
                        "the NATS servers have entries up to {last}, and tell none from {next} on: one of them may be damaged"
                    )));
                }
            },
            permit = room.acquire_many(units(bytes.unwrap_or(0)) as u32), if bytes.is_some() => {
                heard = Instant::now();
                let (Ok(permit), Some(bytes)) = (permit, waiting.take()) else {
                    return Ok(());
                };
                permit.forget();
                let sequence = *next;
                *next += 1;
                (shared.tell)(LogEvent::Entry(sequence, bytes));
            },
            some = work.recv() => {
                let (shared, client) = (shared.clone(), client.clone());
                match some {
                    None => return Ok(()),
                    Some(Work::Append(append)) => {
                        tokio::task::spawn_local(async move { append_one(&shared, &client, append).await });
                    }
                    Some(Work::Mark(mark)) => {
                        tokio::task::spawn_local(async move { exchange(&shared, &client, mark).await });
                    }
                }
            },
            entry = entries.next(), if bytes.is_none() => {
                heard = Instant::now();
                let Some(entry) = entry else {
                    return Err(LogError::Down("the NATS servers ended the stream".to_owned()));
                };
                let entry = match entry {
                    Ok(entry) => entry,
                    Err(error) if is_of_consumer(error.kind()) => {
                        (entries, told) = (read_from(&stream, *next).await?, 0);
                        continue;
                    }
                    Err(error) => return Err(LogError::down("cannot read the stream", error)),
                };
                let place = entry.info().map(|info| (info.stream_sequence, info.consumer_sequence));
                let (sequence, count) = place.map_err(|error| LogError::Down(format!("cannot read an entry: {error}")))?;
                if count != told + 1 {
                    // Some were lost on the way: the servers have them.
                    (entries, told) = (read_from(&stream, *next).await?, 0);
                    continue;
                }
                told = count;
                if sequence < *next {
                    continue;
                }
                check_range(*next, sequence, sequence)?;
                waiting = Some(entry.payload.clone());
            }
        }
    }
}

/// Looks at the servers and at the stream, and returns the sequence numbers of the first and of the last entry.
async fn look_now<T: Fn(LogEvent)>(
    shared: &Shared<T>,
    client: &Client,
    patience: Patience,
) -> Result<(u64, u64), LogError> {
    let looked = look(&shared.options, client, patience).await?;
    let mute = shared
        .watch
        .borrow_mut()
        .saw(looked.silent, StdInstant::now());
    match mute {
        None => Ok((looked.first, looked.last)),
        Some(why) => Err(LogError::Down(why)),
    }
}

/// Looks at the servers now and then, and when this node has lost a connection and has another one. Returns when one does not meet the demands
/// any more. Servers that do not answer are the business of the others.
async fn watch<T: Fn(LogEvent)>(shared: &Shared<T>, client: &Client) -> LogError {
    let connects = || client.statistics().connects.load(Ordering::Relaxed);
    let mut seen = connects();
    loop {
        let until = Instant::now() + WATCH;
        while Instant::now() < until && connects() == seen {
            tokio::time::sleep(HEARTBEAT).await;
        }
        seen = connects();
        match look_now(shared, client, Patience::All).await {
            Err(LogError::Down(_)) if !shared.watch.borrow().has_mute(StdInstant::now()) => {}
            Err(error) => return error,
            Ok(_) => {}
        }
    }
}

/// Reads the stream from the entry `next` on, by a new consumer.
async fn read_from(stream: &Stream<()>, next: u64) -> Result<pull::Stream, LogError> {
    let config = pull::Config {
        deliver_policy: DeliverPolicy::ByStartSequence {
            start_sequence: next,
        },
        ack_policy: AckPolicy::None,
        inactive_threshold: CONSUMER_FORGOTTEN,
        memory_storage: true,
        num_replicas: 1,
        ..pull::Config::default()
    };
    let consumer = stream.create_consumer(config).await;
    let consumer = consumer.map_err(|error| LogError::down("cannot read the stream", error))?;
    let entries = consumer
        .stream()
        .max_messages_per_batch(PULL_ENTRIES)
        .expires(PULL_EXPIRES)
        .heartbeat(HEARTBEAT)
        .messages();
    entries
        .await
        .map_err(|error| LogError::down("cannot read the stream", error))
}

/// Whether the consumer failed, and a new one can go on.
fn is_of_consumer(kind: MessagesErrorKind) -> bool {
    matches!(
        kind,
        MessagesErrorKind::MissingHeartbeat
            | MessagesErrorKind::ConsumerDeleted
            | MessagesErrorKind::NoResponders
    )
}

/// Whether the entry `next` can come from a log with these entries.
fn check_range(next: u64, first: u64, last: u64) -> Result<(), LogError> {
    if next < first && last >= first {
        return Err(LogError::Stopped(format!(
            "the log begins with entry {first}, and this node needs entry {next}: it was away for too long, or the log has lost entries; `broadsheet cluster reseed' fetches what it lacks from another node"
        )));
    }
    if next > last + 1 {
        return Err(LogError::Stopped(format!(
            "the log ends with entry {last}, and this node has applied entry {}: the log is another one, or was reset",
            next - 1
        )));
    }
    Ok(())
}

/// Appends one entry: tries until the servers acknowledge or refuse it.
async fn append_one<T: Fn(LogEvent)>(shared: &Shared<T>, client: &Client, append: Append) {
    let context = context(client);
    let mut pause = PAUSE_FIRST;
    let began = Instant::now();
    loop {
        let message = PublishMessage::build()
            .payload(append.bytes.clone())
            .message_id(&append.message_id);
        let sent = context
            .send_publish(shared.options.subject.clone(), message)
            .await;
        let done = match sent {
            Ok(acknowledged) => acknowledged.await,
            Err(error) => Err(error),
        };
        let error = match done {
            Ok(place) => {
                shared.is_up(place.sequence);
                return (shared.tell)(LogEvent::Appended(append.counter));
            }
            Err(error) => error,
        };
        if error.kind() == PublishErrorKind::MaxPayloadExceeded {
            return (shared.tell)(LogEvent::Refused(append.counter, error.to_string()));
        }
        if began.elapsed() >= QUIET {
            shared.is_down(shared.why_not_appended(error));
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_LAST);
    }
}

/// Puts a mark, and tells those of all nodes. Repeats it until there is a newer one, as long as it fails, another node has to tell its outcome,
/// or the log keeps what should leave it: a log that is full has no further entries, and so this node no further marks.
async fn exchange<T: Fn(LogEvent)>(shared: &Shared<T>, client: &Client, mark: Mark) {
    let number = shared.marks.get() + 1;
    shared.marks.set(number);
    let (mut outcome_pause, longest) = OUTCOME_PAUSES;
    let is_newest = || shared.marks.get() == number;
    while is_newest() {
        let mark = (mark.clone(), shared.is_marked.get());
        let done = nodes::exchange(&shared.options, client, mark, &shared.renewal, &is_newest);
        let pause = match done.await {
            Ok(_) if !is_newest() => return,
            Ok(done) => {
                if let Some(stop) = done.stopped {
                    return (shared.tell)(LogEvent::Outvoted(stop));
                }
                shared.is_marked.set(true);
                let is_awaited = done.members.is_outcome_awaited(&shared.options.node);
                (shared.tell)(LogEvent::Members(done.members));
                let pause = outcome_pause;
                outcome_pause = longest.min(pause * 2);
                match shared.is_kept(done.kept) {
                    true => KEPT_PAUSE,
                    false if is_awaited => pause,
                    false => return,
                }
            }
            Err(LogError::Stopped(why)) => return (shared.tell)(LogEvent::Stopped(why)),
            Err(LogError::Down(_)) => MARK_PAUSE,
        };
        tokio::time::sleep(pause).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_gap_is_stepped_over() {
        assert!(check_range(1, 0, 0).is_ok());
        assert!(check_range(1, 1, 0).is_ok());
        assert!(check_range(8, 8, 7).is_ok());
        assert!(check_range(5, 1, 9).is_ok());
        assert!(check_range(10, 1, 9).is_ok());
        assert!(check_range(4, 5, 9).is_err());
        assert!(check_range(11, 1, 9).is_err());
    }
}
