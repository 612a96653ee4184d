//! The reviews of mail: the moderators of groups, and the way of mail to them.

use std::time::Duration;

use groups::active::GroupId;
use groups::{Active, Flag};
use inject::Moderators;
use inject::smtp::Connection;
use settings::Finding;

use super::{Content, Context, Errors, counted, none_of};

/// Time for a mail server to answer, seconds.
const ANSWER_SECONDS: u64 = 5;

/// The recipients of posts to moderated groups, by `mailpaths` and INN's `moderators`; both may be missing.
pub fn moderators(on: &Context<'_>) -> Result<Content, Errors> {
    let (moderators, faults) = Moderators::of(on.root()).map_err(|error| format!("{error:#}"))?;
    none_of(faults.into_iter().map(Finding::error).collect(), 0)?;
    let groups = moderated(&on.active);
    let without = groups.filter(|id| moderators.address(on.active.name(*id)).is_none());
    let warning = match without.count() {
        0 => None,
        count => Some(
            Finding::warning(format!(
                "{} without a moderator: posts to them are rejected",
                counted(count, "moderated group")
            ))
            .remedy(';', "add a line such as `GROUP ADDRESS' to mailpaths"),
        ),
    };
    let lines = counted(moderators.len(), "line");
    Ok(Content::new(format!("{lines} of moderators")).with(warning))
}

fn moderated(active: &Active) -> impl Iterator<Item = GroupId> + '_ {
    let is_moderated = |id: &GroupId| active.flag(*id) == Flag::Moderated;
    active.ids().filter(is_moderated)
}

/// The way of mail to moderators, and whether it works, with advice if no address gets reports.
pub fn review(on: &Context<'_>) -> Result<Content, Errors> {
    let advice = on.settings().report.mail.is_empty().then(|| {
        Finding::advice("report.mail is empty, so that nobody gets mail when a feed fails (report.alarm_after), nor the daily report")
            .remedy(':', "set it to your address")
    });
    Ok(way(on)?.with(advice))
}

/// The way of mail. Servers are asked only if something is mailed.
fn way(on: &Context<'_>) -> Result<Content, Errors> {
    let settings = on.settings();
    let (moderators, _) = Moderators::of(on.root()).map_err(|error| format!("{error:#}"))?;
    // The daily report is mail, too.
    let is_report_mailed = !settings.report.mail.is_empty();
    let mut groups = moderated(&on.active);
    if !is_report_mailed && !groups.any(|id| moderators.address(on.active.name(id)).is_some()) {
        return Ok(Content::new("no group has a moderator: nothing is mailed"));
    }
    let mailer = settings.mailer(on.directory);
    let is_auto = settings.post.mail_server() == Ok(inject::MailServer::Auto);
    let servers = Servers::ask(mailer.servers());
    let program = match mailer.program() {
        Some(program) if is_auto || servers.names.is_empty() => program,
        None if mailer.is_off() => {
            let warning = Finding::warning("posts to moderated groups wait in mail.queue/");
            let remedy = "set post.sendmail or post.mail_server";
            return Ok(Content::new("").with([warning.remedy(':', remedy)]));
        }
        _ => return Ok(servers.content()),
    };
    let name = program.name.display();
    let content = Content::new(format!("goes to {name}"));
    if !program.exists {
        return Ok(content.with([Finding::warning(format!(
            "the program {name} does not exist: posts to moderated groups wait in mail.queue/"
        ))]));
    }
    if !(program.wants_rights && is_auto) {
        return Ok(content);
    }
    Ok(match servers.answer() {
        None => content.with([Finding::warning(format!(
            "a daemon under its systemd unit (NoNewPrivileges) needs a mail server in place of {name}, and none answers at {}",
            servers.names
        ))]),
        Some(answer) => Content::new(format!(
            "goes to {name}; from a daemon under its systemd unit (NoNewPrivileges) to the server {}{answer}",
            servers.names
        )),
    })
}

/// The mail servers that were asked.
struct Servers {
    /// Their names, for people.
    names: String,
    /// Their greetings.
    answers: Vec<String>,
    /// The errors of the others.
    errors: Vec<String>,
}

impl Servers {
    fn ask(servers: &[String]) -> Servers {
        let (mut answers, mut errors) = (Vec::new(), Vec::new());
        for server in servers {
            let connection = Connection::open(server, Duration::from_secs(ANSWER_SECONDS));
            match connection.and_then(Connection::greeting) {
                Ok(answer) => answers.push(answer),
                Err(error) => errors.push(error.to_string()),
            }
        }
        Servers {
            names: servers.join(" or "),
            answers,
            errors,
        }
    }

    /// The first greeting, as the end of a sentence.
    fn answer(&self) -> Option<String> {
        let answer = self.answers.first()?;
        Some(format!(", which answers: {answer}"))
    }

    /// Mail goes to one of them.
    fn content(&self) -> Content {
        let names = &self.names;
        let Some(answer) = self.answer() else {
            let why = self.errors.join("; ");
            let warning = format!("posts to moderated groups wait in mail.queue/: {why}");
            return Content::new(format!("goes to the server {names}"))
                .with([Finding::warning(warning)]);
        };
        Content::new(format!("goes to the server {names}{answer}")).with(self.plain())
    }

    /// A note if mail leaves this machine without encryption.
    fn plain(&self) -> Option<Finding> {
        let is_local = ["127.", "[::1]", "localhost:"];
        let leaves = !is_local.iter().any(|start| self.names.starts_with(start));
        leaves.then(|| {
            Finding::note("mail goes there without encryption")
                .remedy(';', "a mail server on this machine can encrypt it")
        })
    }
}
