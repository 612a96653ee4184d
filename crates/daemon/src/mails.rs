//! Mail to moderators, and the daily report: passes it to the mail program or a mail server, and retries while any waits in `mail.queue/`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use inject::Mailer;
use inject::mail_queue::{self, QueuedMail};

use super::sandbox::Starter;
use super::warn;

/// Maximum number of mails sent at once; more wait for a retry.
pub const MAILS_MAX: usize = 4;
/// Interval before the first retry, seconds; it doubles after each failure.
const RETRY_SECONDS_FIRST: u64 = 60;
/// Longest interval between two retries, seconds.
pub const RETRY_SECONDS_MAX: u64 = 3600;

/// The way of mail to moderators. A clone shares its state; retries end with the last clone.
#[derive(Clone)]
pub struct Mails(Arc<State>);

struct State {
    root: PathBuf,
    mailer: Mailer,
    starter: Starter,
    first: Duration,
    sending: AtomicUsize,
    /// A thread retries.
    retries: AtomicBool,
}

impl Mails {
    /// Mail of a news directory.
    pub fn new(root: &Path, mailer: Mailer, starter: &Starter) -> Mails {
        let first = Duration::from_secs(RETRY_SECONDS_FIRST);
        Mails::with_interval(root, mailer, starter, first)
    }

    fn with_interval(root: &Path, mailer: Mailer, starter: &Starter, first: Duration) -> Mails {
        Mails(Arc::new(State {
            root: root.to_owned(),
            mailer,
            starter: starter.clone(),
            first,
            sending: AtomicUsize::new(0),
            retries: AtomicBool::new(false),
        }))
    }

    /// Sends a queued mail, in a thread.
    pub fn send(&self, mail: QueuedMail) {
        if self.0.sending.fetch_add(1, Ordering::SeqCst) >= MAILS_MAX {
            self.0.sending.fetch_sub(1, Ordering::SeqCst);
            return self.retry();
        }
        let mails = self.clone();
        let send = move || {
            let is_sent = mails.0.pass(&mail);
            mails.0.sending.fetch_sub(1, Ordering::SeqCst);
            if !is_sent {
                mails.retry();
            }
        };
        if let Err(error) = self.0.starter.spawn("mail", Box::new(send)) {
            self.0.sending.fetch_sub(1, Ordering::SeqCst);
            warn(&format!("mail waits in mail.queue/: {error}"));
        }
    }

    /// Retries while mail waits, in a thread. Without a way for mail, and without mail, there is nothing to retry.
    pub fn retry(&self) {
        if self.0.mailer.is_off() || !self.0.has_mail() {
            return;
        }
        if self.0.retries.swap(true, Ordering::SeqCst) {
            return;
        }
        let mails = Arc::downgrade(&self.0);
        let (mut pause, mut ended_at) = (self.0.first, None);
        let retry = move || loop {
            std::thread::sleep(pause);
            // The settings were read again, or the daemon ends.
            let Some(mails) = mails.upgrade() else {
                return;
            };
            let attempt = mails.pass_all(&mut ended_at);
            pause = match attempt.any_sent || !attempt.any_left {
                true => mails.first,
                false => (pause * 2).min(Duration::from_secs(RETRY_SECONDS_MAX)),
            };
            if !mails.has_mail() {
                mails.retries.store(false, Ordering::SeqCst);
                // A mail that came between found this thread retrying.
                if !mails.has_mail() || mails.retries.swap(true, Ordering::SeqCst) {
                    return;
                }
            }
        };
        if let Err(error) = self.0.starter.spawn("mail-retry", Box::new(retry)) {
            self.0.retries.store(false, Ordering::SeqCst);
            warn(&format!("mail waits in mail.queue/: {error}"));
        }
    }
}

/// The result of an attempt to send all mail that waits.
#[derive(Debug, Default)]
struct Attempt {
    any_sent: bool,
    any_left: bool,
}

impl State {
    /// Returns whether the mail was sent. A failure is logged.
    fn pass(&self, mail: &QueuedMail) -> bool {
        match self.mailer.send(mail) {
            Ok(true) => true,
            Ok(false) => {
                report(mail, &mail_queue::NO_WAY);
                false
            }
            Err(mail_queue::Error::Busy) => false,
            Err(error) => {
                report(mail, &error);
                false
            }
        }
    }

    /// Sends the mail that waits. A mail that is refused does not keep the others back; without the program or the server, or if it
    /// hangs, the next mail would probably fail likewise, and the attempt ends. The next one begins behind that mail, which may
    /// have been the reason.
    fn pass_all(&self, ended_at: &mut Option<QueuedMail>) -> Attempt {
        let mut waiting = mail_queue::list(&self.root).unwrap_or_default();
        if let Some(last) = ended_at.take() {
            let behind = waiting.iter().position(|mail| mail.path == last.path);
            waiting.rotate_left(behind.map_or(0, |place| place + 1));
        }
        let mut attempt = Attempt::default();
        for mail in waiting {
            match self.mailer.send(&mail) {
                Ok(true) => attempt.any_sent = true,
                Err(error) if error.is_of_one_mail() => {
                    report(&mail, &error);
                    attempt.any_left = true;
                }
                Err(mail_queue::Error::Busy) => attempt.any_left = true,
                failed => {
                    if let Err(error) = failed {
                        report(&mail, &error);
                    }
                    attempt.any_left = true;
                    *ended_at = Some(mail);
                    break;
                }
            }
        }
        attempt
    }

    fn has_mail(&self) -> bool {
        mail_queue::list(&self.root).is_ok_and(|waiting| !waiting.is_empty())
    }
}

fn report(mail: &QueuedMail, error: &dyn std::fmt::Display) {
    let recipient = mail.recipient().map(|to| format!(" to {to}"));
    let (name, to) = (mail.name(), recipient.unwrap_or_default());
    warn(&format!("mail {name}{to} waits in mail.queue/: {error}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn mail_is_retried_until_the_program_takes_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let starter = Starter::start().unwrap();
        // It fails until there is a file `up`.
        let sendmail = format!("cp {} {}", path("up").display(), path("taken").display());
        let mails = Mails::with_interval(
            dir.path(),
            Mailer::program_only(&sendmail),
            &starter,
            Duration::from_millis(5),
        );
        for random in [1, 2] {
            let path = mail_queue::enqueue(dir.path(), b"To: a@b\n\nx\n", 1, random).unwrap();
            mails.send(QueuedMail { path, since: 1 });
        }
        wait_for("it retries", || mails.0.retries.load(Ordering::SeqCst));
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(mail_queue::list(dir.path()).unwrap().len(), 2);
        std::fs::write(path("up"), "").unwrap();
        wait_for("all mail is sent", || !mails.0.has_mail());
        wait_for("it rests", || !mails.0.retries.load(Ordering::SeqCst));
        assert!(path("taken").exists());
    }

    #[test]
    fn a_refused_mail_keeps_no_other_back() {
        let dir = tempfile::tempdir().unwrap();
        let starter = Starter::start().unwrap();
        for (random, text) in [(1, "refused"), (2, "taken")] {
            let mail = format!("To: a@b\n\n{text}\n");
            mail_queue::enqueue(dir.path(), mail.as_bytes(), random, random as u64).unwrap();
        }
        let first = Duration::from_millis(1);
        let mails = Mails::with_interval(
            dir.path(),
            Mailer::program_only("grep -q taken"),
            &starter,
            first,
        );
        mails.retry();
        wait_for("the second is sent", || {
            mail_queue::list(dir.path()).unwrap().len() == 1
        });
        assert_eq!(mail_queue::list(dir.path()).unwrap()[0].since, 1);
    }

    #[test]
    fn a_mail_at_which_the_connection_breaks_keeps_no_other_back() {
        let dir = tempfile::tempdir().unwrap();
        let starter = Starter::start().unwrap();
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            for stream in server.incoming() {
                let mut reader = std::io::BufReader::new(stream.unwrap());
                let mut line = String::new();
                let say = |reader: &mut std::io::BufReader<std::net::TcpStream>, text: &str| {
                    std::io::Write::write_all(reader.get_mut(), text.as_bytes()).unwrap();
                };
                say(&mut reader, "220 ready\r\n");
                let mut is_text = false;
                while std::io::BufRead::read_line(&mut reader, &mut line).unwrap_or(0) > 0 {
                    match line.as_str() {
                        // It closes the connection at this text.
                        "poison\r\n" => break,
                        ".\r\n" => {
                            is_text = false;
                            say(&mut reader, "250 kept\r\n");
                        }
                        "DATA\r\n" => {
                            is_text = true;
                            say(&mut reader, "354 go\r\n");
                        }
                        _ if !is_text => say(&mut reader, "250 ok\r\n"),
                        _ => {}
                    }
                    line.clear();
                }
            }
        });
        for (seconds, mail) in [
            (1, "To: a@b\n\npoison\n"),
            (2, "no recipient\n"),
            (3, "To: c@d\n\ngood\n"),
        ] {
            mail_queue::enqueue(dir.path(), mail.as_bytes(), seconds, 1).unwrap();
        }
        let mailer = Mailer::new("", inject::MailServer::At(address), "site.example");
        let mails = Mails::with_interval(dir.path(), mailer, &starter, Duration::from_millis(1));
        mails.retry();
        wait_for("the third is sent", || {
            mail_queue::list(dir.path()).unwrap().len() == 2
        });
        let left = mail_queue::list(dir.path()).unwrap();
        assert_eq!(
            left.iter().map(|mail| mail.since).collect::<Vec<_>>(),
            [1, 2]
        );
    }

    #[test]
    fn mail_of_an_earlier_run_is_retried() {
        let dir = tempfile::tempdir().unwrap();
        let starter = Starter::start().unwrap();
        mail_queue::enqueue(dir.path(), b"To: a@b\n\nx\n", 1, 1).unwrap();
        let first = Duration::from_millis(1);
        // Without a program nothing is tried.
        let none = Mails::with_interval(dir.path(), Mailer::program_only(""), &starter, first);
        none.retry();
        assert!(!none.0.retries.load(Ordering::SeqCst));
        let mails = Mails::with_interval(dir.path(), Mailer::program_only("true"), &starter, first);
        mails.retry();
        wait_for("all mail is sent", || !mails.0.has_mail());
    }
}
