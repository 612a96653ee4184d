//! The finding of `broadsheet check` about mail to moderators.

use std::time::Duration;

use groups::{Active, Flag};
use inject::smtp::Connection;

use crate::directory::NewsDirectory;
use settings::Settings;

/// Time for a mail server to answer, seconds.
const ANSWER_SECONDS: u64 = 5;

/// Advice where nobody gets reports.
const NOBODY: &str = "\n    advice: report.mail is empty, so that nobody gets mail when a feed fails (report.alarm_after), nor the daily report: set it to your address";

/// The way of mail to moderators, and whether it works, with advice where nobody gets reports. Where no post is mailed it is not tried.
pub fn mail(
    directory: &NewsDirectory,
    settings: &Settings,
    active: &Active,
) -> Result<String, String> {
    let told = way(directory, settings, active)?;
    Ok(match settings.report.mail.is_empty() {
        true => told + NOBODY,
        false => told,
    })
}

fn way(directory: &NewsDirectory, settings: &Settings, active: &Active) -> Result<String, String> {
    let (moderators, _) =
        inject::Moderators::of(directory.root()).map_err(|error| format!("{error:#}"))?;
    let is_mailed = |id: &groups::GroupId| {
        active.flag(*id) == Flag::Moderated && moderators.address(active.name(*id)).is_some()
    };
    // The daily report is mail, too.
    let is_report_mailed = !settings.report.mail.is_empty();
    if !is_report_mailed && !active.ids().any(|id| is_mailed(&id)) {
        return Ok("no group has a moderator: nothing is mailed".to_owned());
    }
    let mailer = settings.mailer(directory);
    let is_auto = settings.post.mail_server() == Ok(inject::MailServer::Auto);
    let (answers, faults) = ask(mailer.servers());
    let answer = match answers.first() {
        Some(answer) => format!(", which answers: {answer}"),
        None => String::new(),
    };
    let servers = mailer.servers().join(" or ");
    let Some(program) = mailer.program() else {
        return Ok(match (mailer.is_off(), answers.is_empty()) {
            (true, _) => "warning: posts to moderated groups wait in mail.queue/: set post.sendmail or post.mail_server".to_owned(),
            (false, false) => format!("goes to the server {servers}{answer}{}", plain(&servers)),
            (false, true) => unanswered(&servers, &faults),
        });
    };
    let name = program.name.display();
    if !is_auto && !servers.is_empty() {
        return Ok(match answers.is_empty() {
            false => format!("goes to the server {servers}{answer}{}", plain(&servers)),
            true => unanswered(&servers, &faults),
        });
    }
    Ok(match (program.exists, program.wants_rights && is_auto) {
        (false, _) => format!(
            "goes to {name}\n    warning: the program {name} does not exist: posts to moderated groups wait in mail.queue/"
        ),
        (true, false) => format!("goes to {name}"),
        (true, true) if answers.is_empty() => format!(
            "goes to {name}\n    warning: a daemon under its systemd unit (NoNewPrivileges) needs a mail server in place of {name}, and none answers at {servers}"
        ),
        (true, true) => format!(
            "goes to {name}; from a daemon under its systemd unit (NoNewPrivileges) to the server {servers}{answer}"
        ),
    })
}

/// The greetings of the servers, and their errors.
fn ask(servers: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut answers, mut faults) = (Vec::new(), Vec::new());
    for server in servers {
        let connection = Connection::open(server, Duration::from_secs(ANSWER_SECONDS));
        match connection.and_then(Connection::greeting) {
            Ok(answer) => answers.push(answer),
            Err(error) => faults.push(error.to_string()),
        }
    }
    (answers, faults)
}

fn unanswered(servers: &str, faults: &[String]) -> String {
    let why = faults.join("; ");
    format!(
        "goes to the server {servers}\n    warning: posts to moderated groups wait in mail.queue/: {why}"
    )
}

/// A note where mail leaves this machine as it is.
fn plain(server: &str) -> &'static str {
    let is_local = ["127.", "[::1]", "localhost:"];
    match is_local.iter().any(|start| server.starts_with(start)) {
        true => "",
        false => {
            "\n    note: mail goes there without encryption; a mail server on this machine can encrypt it"
        }
    }
}
