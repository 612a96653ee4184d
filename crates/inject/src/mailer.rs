//! The way of mail out of the queue: a program, or a mail server.
//!
//! sendmail of the usual mail systems is setuid (exim), or starts a program that is setgid (postfix). A process with `no_new_privs`, such as the
//! daemon under its systemd unit, cannot use it. There, mail goes to the mail server of this machine by SMTP.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use groups::command_line::CommandLine;
use relay::program_file;

use crate::mail_queue::{self, Error, MAIL_SECONDS_MAX, QueuedMail};
use crate::smtp::{Connection, Envelope};

/// The port of SMTP (RFC 5321, 4.5.4.2).
pub const SMTP_PORT: u16 = 25;
/// The addresses of the mail server of this machine.
const LOCAL: [&str; 2] = ["127.0.0.1:25", "[::1]:25"];
/// The mailbox of the news administrator (RFC 2142, 5), which gets bounces.
const SENDER: &str = "news";

/// The mail server that gets the mail, and when.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum MailServer {
    /// Never.
    None,
    /// Where the program cannot gain its rights: to the one of this machine.
    #[default]
    Auto,
    /// Always: to this one, `HOST:PORT`.
    At(String),
}

/// The way of mail to moderators.
#[derive(Debug, Clone)]
pub struct Mailer {
    command: Option<CommandLine>,
    server: MailServer,
    /// The part after the `@` of our own address.
    domain: String,
    local: Vec<String>,
    has_no_new_privileges: fn() -> bool,
}

/// The program of a [`Mailer`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailProgram {
    /// Its name, as in the settings.
    pub name: PathBuf,
    /// Whether it exists.
    pub exists: bool,
    /// Whether it cannot work in a process with `no_new_privs`.
    pub wants_rights: bool,
}

impl Mailer {
    /// The way by the command line `sendmail` (empty: none), or by a server. `domain`: the domain of our mail address.
    pub fn new(sendmail: &str, server: MailServer, domain: &str) -> Mailer {
        Mailer {
            // A command line with errors was refused when the settings were read.
            command: CommandLine::parse(sendmail.as_bytes()).ok(),
            server,
            domain: domain.to_owned(),
            local: LOCAL.map(str::to_owned).to_vec(),
            has_no_new_privileges: program_file::has_no_new_privileges,
        }
    }

    /// The way by a command line only.
    pub fn program_only(sendmail: &str) -> Mailer {
        Mailer::new(sendmail, MailServer::None, "")
    }

    /// Whether there is no way at all.
    pub fn is_off(&self) -> bool {
        self.command.is_none() && !matches!(self.server, MailServer::At(_))
    }

    /// The program, if one is set.
    pub fn program(&self) -> Option<MailProgram> {
        let name = OsStr::from_bytes(self.command.as_ref()?.program());
        let place = program_file::find(name, Path::new(""));
        Some(MailProgram {
            name: name.into(),
            exists: place.is_some(),
            wants_rights: place.is_some_and(|place| wants_rights(&place)),
        })
    }

    /// The servers that may get mail: none, one, or those of this machine.
    pub fn servers(&self) -> &[String] {
        match &self.server {
            MailServer::None => &[],
            MailServer::Auto => &self.local,
            MailServer::At(server) => std::slice::from_ref(server),
        }
    }

    /// Sends one mail, and removes its file. Returns `false` where nothing can send it (no program): the mail waits.
    ///
    /// # Errors
    /// Neither the program nor a server accepted the mail, which is still in the queue.
    pub fn send(&self, mail: &QueuedMail) -> Result<bool, Error> {
        match (&self.server, &self.command) {
            (MailServer::At(server), _) => self.send_to(server, mail).map(|()| true),
            (_, None) => Ok(false),
            (MailServer::Auto, Some(command)) => self.send_locally(mail, command),
            (MailServer::None, Some(command)) => by_program(mail, command),
        }
    }

    fn send_locally(&self, mail: &QueuedMail, command: &CommandLine) -> Result<bool, Error> {
        let program = self.program();
        let lacks_rights = program.is_some_and(|program| program.wants_rights);
        if !lacks_rights || !(self.has_no_new_privileges)() {
            return by_program(mail, command);
        }
        for server in &self.local {
            match self.send_to(server, mail) {
                Err(Error::Server(error)) if error.is_no_server() => {}
                other => return other.map(|()| true),
            }
        }
        // A program such as msmtp is named sendmail, too, and needs no rights.
        by_program(mail, command).map_err(|error| match error {
            Error::NotTaken { program, status } => Error::NoRights { program, status },
            other => other,
        })
    }

    fn send_to(&self, server: &str, mail: &QueuedMail) -> Result<(), Error> {
        mail_queue::deliver(mail, |file| {
            let recipient = mail_queue::recipient(&file).map_err(|source| Error::Io {
                doing: "read the recipient in",
                path: mail.path.clone(),
                source,
            })?;
            let connection = Connection::open(server, Duration::from_secs(MAIL_SECONDS_MAX))?;
            let envelope = Envelope {
                hello: &self.domain,
                sender: &format!("{SENDER}@{}", self.domain),
                recipient: &recipient,
            };
            Ok(connection.deliver(envelope, &file)?)
        })
    }
}

fn by_program(mail: &QueuedMail, command: &CommandLine) -> Result<bool, Error> {
    match mail_queue::send(mail, command, Duration::from_secs(MAIL_SECONDS_MAX)) {
        Err(error) if error.is_no_program() => Ok(false),
        other => other.map(|()| true),
    }
}

/// Whether a program needs the rights of another user or group: it is setuid or setgid, or a sendmail, which may start such a program.
fn wants_rights(place: &Path) -> bool {
    program_file::gains_rights(place) || place.file_name().is_some_and(|name| name == "sendmail")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mail_queue::{enqueue, list};
    use std::fs;
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;
    use std::os::unix::fs::PermissionsExt;
    use std::thread::{self, JoinHandle};

    const MAIL: &[u8] = b"To: mod@site.example\nSubject: \xe9\n\n.dot\r\n\rx";

    /// A mail server that plays a script: a reply to each line, and to the text.
    fn server(script: &'static [(&'static str, &'static str)]) -> (String, JoinHandle<Vec<u8>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let thread = thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut stream = stream;
            let mut got = Vec::new();
            for (wanted, reply) in script {
                let mut lines = Vec::new();
                while !wanted.is_empty() && reader.read_until(b'\n', &mut lines).unwrap() > 0 {
                    let is_text = *wanted == ".";
                    if !is_text || lines == b".\r\n" || lines.ends_with(b"\r\n.\r\n") {
                        break;
                    }
                }
                if *wanted != "." {
                    let line = String::from_utf8_lossy(&lines);
                    assert!(line.starts_with(wanted), "{line} is not {wanted}");
                }
                got.extend_from_slice(&lines);
                stream.write_all(reply.as_bytes()).unwrap();
            }
            got
        });
        (address, thread)
    }

    fn queued(dir: &Path) -> QueuedMail {
        let path = enqueue(dir, MAIL, 1, 1).unwrap();
        QueuedMail { path, since: 1 }
    }

    fn mailer(server: &str) -> Mailer {
        Mailer::new("", MailServer::At(server.to_owned()), "site.example")
    }

    const TO_DATA: &[(&str, &str)] = &[
        ("", "220 ready\r\n"),
        (
            "EHLO site.example",
            "250-hi\r\n250-8bitmime\r\n250 SIZE\r\n",
        ),
        (
            "MAIL FROM:<news@site.example> BODY=8BITMIME\r\n",
            "250 ok\r\n",
        ),
        ("RCPT TO:<mod@site.example>\r\n", "250 ok\r\n"),
        ("DATA", "354 go\r\n"),
        (".", "250 kept\r\n"),
    ];

    #[test]
    fn a_server_gets_the_mail_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let (address, thread) = server(TO_DATA);
        assert!(mailer(&address).send(&queued(dir.path())).unwrap());
        let got = thread.join().unwrap();
        let end = b"To: mod@site.example\r\nSubject: \xe9\r\n\r\n..dot\r\n x\r\n.\r\n";
        assert!(got.ends_with(end), "{}", got.escape_ascii());
        assert_eq!(list(dir.path()).unwrap(), []);
    }

    #[test]
    fn an_old_server_is_enough() {
        let dir = tempfile::tempdir().unwrap();
        let (address, thread) = server(&[
            ("", "220 ready\r\n"),
            ("EHLO ", "502 what\r\n"),
            ("HELO site.example\r\n", "250 8BITMIME\r\n"),
            ("MAIL FROM:<news@site.example>\r\n", "250\r\n"),
            ("RCPT", "251 will forward\r\n"),
            ("DATA", "354 go\r\n"),
            (".", "250 kept\r\n"),
        ]);
        assert!(mailer(&address).send(&queued(dir.path())).unwrap());
        thread.join().unwrap();
    }

    #[test]
    fn a_refused_or_deferred_mail_stays_and_is_reported() {
        for (reply, told) in [
            (
                "450 later\r\n",
                "defers the mail to mod@site.example at RCPT TO: 450 later",
            ),
            (
                "550-no such\r\n550 user \x07\r\n",
                "refuses the mail to mod@site.example at RCPT TO: 550 no such / user",
            ),
        ] {
            let script = vec![
                ("", "220 ready\r\n"),
                ("EHLO", "250 hi\r\n"),
                ("MAIL", "250 ok\r\n"),
                ("RCPT", reply),
            ];
            let dir = tempfile::tempdir().unwrap();
            let (address, thread) = server(script.leak());
            let error = mailer(&address).send(&queued(dir.path())).unwrap_err();
            thread.join().unwrap();
            assert!(error.to_string().contains(told), "{error}");
            assert!(error.is_of_one_mail());
            assert_eq!(list(dir.path()).unwrap().len(), 1);
        }
    }

    #[test]
    fn a_bad_server_is_an_error() {
        let long = "220 ".to_owned() + &"x".repeat(10_000);
        let many = "220-more\r\n".repeat(1_000);
        for greeting in ["", "hello\r\n", "220", &long, &many, "354 go\r\n"] {
            let script = vec![("", greeting.to_owned().leak() as &str)];
            let dir = tempfile::tempdir().unwrap();
            let (address, thread) = server(script.leak());
            let error = mailer(&address).send(&queued(dir.path())).unwrap_err();
            let is_broken = error.to_string().contains("failed at greeting");
            assert!(is_broken && !error.is_of_one_mail(), "{error}");
            thread.join().ok();
            assert_eq!(list(dir.path()).unwrap().len(), 1);
        }
    }

    #[test]
    fn a_lost_reply_keeps_the_mail() {
        let dir = tempfile::tempdir().unwrap();
        let (address, thread) = server(TO_DATA.split_last().unwrap().1);
        let error = mailer(&address).send(&queued(dir.path())).unwrap_err();
        thread.join().unwrap();
        assert!(!error.is_of_one_mail(), "{error}");
        assert_eq!(list(dir.path()).unwrap().len(), 1);
    }

    #[test]
    fn without_rights_the_local_server_is_tried_first() {
        let dir = tempfile::tempdir().unwrap();
        let sendmail = dir.path().join("sendmail");
        fs::write(&sendmail, "#!/bin/sh\ntouch \"$0.was.run\"\nexit 1\n").unwrap();
        fs::set_permissions(&sendmail, fs::Permissions::from_mode(0o755)).unwrap();
        let was_run = dir.path().join("sendmail.was.run");
        let (address, thread) = server(TO_DATA);
        let mut mailer = Mailer::new(
            &sendmail.display().to_string(),
            MailServer::Auto,
            "site.example",
        );
        let closed = TcpListener::bind("127.0.0.1:0").unwrap();
        let unused = closed.local_addr().unwrap().to_string();
        drop(closed);
        mailer.local = vec![unused, address];
        // With its rights the program is used.
        mailer.has_no_new_privileges = || false;
        let error = mailer.send(&queued(dir.path())).unwrap_err();
        assert!(matches!(error, Error::NotTaken { .. }), "{error}");
        assert!(was_run.exists());
        fs::remove_file(&was_run).unwrap();
        mailer.has_no_new_privileges = || true;
        assert!(mailer.send(&list(dir.path()).unwrap()[0]).unwrap());
        thread.join().unwrap();
        assert!(!was_run.exists());
        // Nothing listens: the program may be one that needs no rights; else the error says what to do.
        let error = mailer.send(&queued(dir.path())).unwrap_err();
        assert!(matches!(error, Error::NoRights { .. }), "{error}");
        assert!(was_run.exists());
        assert_eq!(list(dir.path()).unwrap().len(), 1);
    }

    #[test]
    fn a_file_without_a_recipient_is_not_sent() {
        let dir = tempfile::tempdir().unwrap();
        let mail = queued(dir.path());
        for text in ["", "Subject: x\n", "To: a@b> SIZE=0\n", "To: -x@y\n"] {
            fs::write(&mail.path, text).unwrap();
            let error = mailer("127.0.0.1:1").send(&mail).unwrap_err();
            assert!(error.to_string().contains("first line"), "{error}");
        }
    }
}
