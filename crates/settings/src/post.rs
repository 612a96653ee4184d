//! `[post]`: articles posted here.

use crate::nntp_server::host_and_port;

/// `[post]`: articles posted here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Post {
    /// The text after the `@` of posters and new message-ids; empty for the file `mailname`, or else the site's name.
    pub mailname: String,
    /// Users who may post with Approved, and post control messages; `*` for all.
    pub approve: String,
    /// The facts that articles reveal about their posters.
    pub reveal: String,
    /// Days for which posts.log keeps a line; 0: there is no such file.
    pub log_days: u64,
    /// The address for complaints.
    pub complaints: String,
    /// The command that sends mail.
    pub sendmail: String,
    /// The mail server that gets mail in place of the command: `auto`, `HOST:PORT`, or empty.
    pub mail_server: String,
    /// Lines of ~/.signature.
    pub signature_lines: u64,
    /// Old customs.
    pub customs: String,
}

impl Post {
    /// Whether a user may give Approved.
    pub fn lets_approve(&self, user: &str) -> bool {
        let mut users = self.approve.split(',').map(str::trim);
        users.any(|known| known == "*" || known == user)
    }

    /// Time for which posts.log keeps a line, seconds; 0: there is none.
    pub fn log_seconds(&self) -> i64 {
        i64::try_from(self.log_days.saturating_mul(86_400)).unwrap_or(i64::MAX)
    }

    /// Whether `Subject: cmsg X` makes a control message.
    pub fn takes_cmsg(&self) -> bool {
        self.customs == CMSG
    }

    /// The mail server for mail to moderators.
    ///
    /// # Errors
    /// The rest of a sentence that begins with the name of the setting.
    pub fn mail_server(&self) -> Result<inject::MailServer, String> {
        match self.mail_server.trim() {
            "" => Ok(inject::MailServer::None),
            "auto" => Ok(inject::MailServer::Auto),
            server => {
                let (host, port) = host_and_port(server)
                    .ok_or("is auto, or a host and perhaps a port, such as \"127.0.0.1:25\"")?;
                let port = port.unwrap_or(inject::mailer::SMTP_PORT);
                Ok(inject::MailServer::At(if host.contains(':') {
                    format!("[{host}]:{port}")
                } else {
                    format!("{host}:{port}")
                }))
            }
        }
    }

    /// The first error in the texts, with its key.
    pub(crate) fn fault(&self) -> Option<(&'static str, String)> {
        let is_domain = article::message_id::valid_domain_strict(self.mailname.as_bytes());
        if !self.mailname.is_empty() && !is_domain {
            return Some(("post.mailname", "is not the name of a mail host".to_owned()));
        }
        if let Err(word) = inject::Reveal::parse(&self.reveal) {
            let told = format!("takes account, host, logging and sender, not `{word}'");
            return Some(("post.reveal", told));
        }
        let is_address = inject::mailbox::is_safe_recipient(self.complaints.as_bytes());
        if !self.complaints.is_empty() && !is_address {
            return Some(("post.complaints", "is not an address".to_owned()));
        }
        if !self.sendmail.trim().is_empty()
            && let Err(error) = groups::command_line::CommandLine::parse(self.sendmail.as_bytes())
        {
            return Some(("post.sendmail", format!("cannot be run: {error}")));
        }
        if let Err(told) = self.mail_server() {
            return Some(("post.mail_server", told));
        }
        let is_known = matches!(self.customs.as_str(), "" | CMSG);
        (!is_known).then(|| ("post.customs", "is \"cmsg\" or empty".to_owned()))
    }
}

/// The only old custom that can be switched on.
const CMSG: &str = "cmsg";
