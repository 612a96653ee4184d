//! `broadsheet setup`: makes a news system by questions, and tries it.

use std::io::{IsTerminal, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command as Process;

use access::{User, Users};
use anyhow::Context;
use groups::Active;

use crate::answer::Answer;
use crate::command::init;
use crate::directory::{DEFAULT, ENVIRONMENT, NewsDirectory, OWN_PROGRAM};
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, Operands, UsageError};
use crate::setup::answers::{self, Answers, Circumstances};
use crate::setup::question::Asker;
use crate::setup::{by_root, making, trial, unfinished};
use crate::text;
use crate::user_edit;
use crate::{new_directory, new_password};

/// The table.
pub static COMMAND: Command = Command {
    words: &["setup"],
    also: &[],
    summary: "set up a news server by six questions, and try it",
    about: "\
Asks for the name, the groups, the readers, the peers, TLS and the disk; each answer can also be a
flag. Answers are lines of standard input; an empty line takes the usual answer. Nothing is fetched
from other machines, except that names of hosts are looked up.

Then it makes the news directory with its settings, adds the first login, and tries everything:
the settings (as `check' does), the name in DNS, the certificate, the port, and a post over NNTP
that is read back. It says what failed and what to do.

A directory that holds anything is left alone. After an interruption, or when the server does not work
yet, the same command goes on; once the directory is made, flags with other answers are refused. What
only concerns other machines (a name that is not in DNS, a certificate that they do not trust) is
reported, and setup is done. Run by root, it does the work as the user `news', to whom the directory will
belong (/var/spool/news by default), and starts the server by systemd if you agree.

  broadsheet setup
  broadsheet setup --dir news --name news.example.org --yes --serve
  broadsheet setup --yes --groups usenet --readers users --login anna --tls 'cert.pem key.pem'",
    operands: Operands::NONE,
    flags: &[
        DIR,
        Flag::new("yes", "Ask nothing: the usual answer for each question that no flag answers."),
        Flag::new("name", "Name of this site in Path, usually its full host name.").value("NAME"),
        Flag::new(
            "groups",
            "`local' (three for this site), `usenet' (some that most servers have), names, several of these, or one file in the form of \
            active.",
        )
        .value("GROUPS"),
        Flag::new(
            "readers",
            "Who may read and post: `local' (this machine), networks, `users' (from anywhere, with a login), `anyone' (may read only).",
        )
        .value("WHO"),
        Flag::new("login", "Name of the first login; its password is read from the terminal, or is the next line of standard input.")
            .value("NAME"),
        Flag::new("peers", "Host names of sites that exchange all groups but local and local.* with this one; `none'.").value("HOSTS"),
        Flag::new("tls", "Files of the certificate (with its chain) and its key, with a blank between; `none'.").value("FILES"),
        Flag::new("keep-free", "Space to leave free on the disk, such as 20 GiB.").value("SIZE"),
        Flag::new("keep-days", "Days for which articles are kept; default: 30.").value("DAYS"),
        Flag::new("port", "Port of the server; default: 119 where systemd opens it for others, else 1119.").value("PORT"),
        Flag::new("tls-port", "Port with TLS from the first byte; default: 563, or 444 above --port.").value("PORT"),
        Flag {
            help: "Run by root: the user who runs the server; default: `news', or the owner of the directory.",
            ..init::RUN_AS
        },
        Flag::new("serve", "At the end run the server in the foreground, as `serve' does."),
    ],
    exits: &[Meaning {
        status: Status::NO,
        when: "a part of the trial failed, or you did not agree",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let root = root(given)?;
    if let Some(status) = by_root::run(given, &root, out)? {
        return Ok(status);
    }
    let part = std::env::var(by_root::PART).unwrap_or_default();
    let about = Circumstances {
        root,
        has_sockets: part == "sockets",
    };
    let root = about.root.as_path();
    let earlier = unfinished::read(root)?;
    let is_whole = root.join(settings::FILE).exists();
    match &earlier {
        Some(_) => eprintln!("A setup of {} was interrupted; going on.", root.display()),
        None => {
            new_directory::must_be_new(root)?;
            init::must_be_free_of_settings(root)?;
        }
    }
    let login = match (is_whole, earlier) {
        (true, Some(earlier)) => {
            must_agree(given, &earlier, root)?;
            let mut answers = earlier.into_iter();
            answers
                .find(|(flag, answer)| flag == "login" && answer != "none")
                .map(|(_, name)| name)
        }
        (_, earlier) => match make(given, &about, earlier.unwrap_or_default(), out)? {
            Some(login) => login,
            None => return Ok(Status::NO),
        },
    };
    let directory = NewsDirectory::meant(given)?;
    if let Some(login) = login
        && let Some(status) = add_login(&directory, &login)?
    {
        return Ok(status);
    }
    out.flush()?;
    eprintln!("Trying it ...");
    let checks = trial::run(&directory);
    checks.write_text(out)?;
    let is_usable = checks.is_ok("daemon") && !checks.is_failed("post");
    if !is_usable {
        writeln!(
            out,
            "\nWhen that is mended, run `broadsheet setup --dir {}' again: it goes on here.",
            root.display()
        )?;
        return Ok(Status::NO);
    }
    unfinished::finish(root)?;
    tell_next(given, (&directory, root), part.is_empty(), out)?;
    if given.has("serve") {
        out.flush()?;
        let error = Process::new(OWN_PROGRAM)
            .arg("serve")
            .arg("--dir")
            .arg(root)
            .exec();
        return Err(error).context("cannot run the server");
    }
    if !checks.are_good() {
        writeln!(
            out,
            "\nSetup is done, although parts of the trial failed: do what it says above. Another setup of this directory changes nothing."
        )?;
        return Ok(Status::NO);
    }
    Ok(Status::OK)
}

/// Refuses flags with other answers than those by which the directory was made.
fn must_agree(given: &Given, earlier: &[(String, String)], root: &Path) -> Result<(), UsageError> {
    let others = answers::FLAGS.iter().filter_map(|(flag, advice)| {
        let value = given.value(flag)?.to_string_lossy();
        let then = earlier.iter().find(|(name, _)| name == flag);
        match then {
            Some((_, then)) if value.trim() == then => None,
            Some((_, then)) => Some(format!("--{flag} (it was `{then}': {advice})")),
            None => Some(format!("--{flag} (it was not given: {advice})")),
        }
    });
    let others: Vec<String> = others.collect();
    if others.is_empty() {
        return Ok(());
    }
    Err(given.usage(format!(
        "{} was made already, with other answers to {}; leave these flags out, or remove the directory to begin anew",
        root.display(),
        others.join(", ")
    )))
}

/// The directory to make, by its full name: `--dir`, the environment, or the usual one.
fn root(given: &Given) -> anyhow::Result<PathBuf> {
    let environment = std::env::var_os(ENVIRONMENT).filter(|root| !root.is_empty());
    let root = match (given.value("dir"), environment) {
        (Some(root), _) => PathBuf::from(root),
        (None, Some(root)) => PathBuf::from(root),
        (None, None) if rustix::process::geteuid().is_root() => PathBuf::from(DEFAULT),
        (None, None) => NewsDirectory::to_make(given)?.root().to_owned(),
    };
    std::path::absolute(&root).with_context(|| format!("cannot find {}", root.display()))
}

/// Asks, and makes the directory. Returns the login to add; `None` if it is not to be made.
fn make(
    given: &Given,
    about: &Circumstances,
    earlier: Vec<(String, String)>,
    out: &mut dyn Write,
) -> anyhow::Result<Option<Option<String>>> {
    let mut asker = Asker::new(given, earlier);
    let answers = answers::ask(&mut asker, given, about)?;
    let is_terminal = asker.is_terminal();
    let Some(answers) = answers else {
        // It says which are missing.
        asker.finish()?;
        return Ok(None);
    };
    let (settings, text) = making::settings_text(&answers, &about.root)?;
    let nntp = &settings.nntp;
    let addresses = [&nntp.listen, &nntp.listen_tls]
        .map(|text| server::socket::addresses(text).unwrap_or_default());
    if let Err(trial::Occupied { found, advice }) = trial::is_free(&addresses.concat()) {
        let told = format!("{found}; nothing was changed: {advice} with --port");
        return Err(given.usage(told).into());
    }
    summarize(&answers, about, out)?;
    out.flush()?;
    if is_terminal && !asker.agrees("\nMake it?", true)? {
        let mut again = format!("broadsheet setup --dir {}", shown(&about.root));
        for (flag, answer) in asker.finish()? {
            again.push_str(&format!(" --{flag} {}", shown(Path::new(&answer))));
        }
        eprintln!(
            "Nothing was changed. These answers as a command, in which you can change or leave out some:\n    {again}"
        );
        return Ok(None);
    }
    let root = about.root.as_path();
    unfinished::mark(root, &asker.finish()?)?;
    making::make(root, &answers, &settings, &text)?;
    Ok(Some(answers.login))
}

fn summarize(answers: &Answers, about: &Circumstances, out: &mut dyn Write) -> anyhow::Result<()> {
    let groups = Active::parse(answers.groups.active.clone())?;
    writeln!(
        out,
        "The server {} in {}: {}, articles kept for {} days.",
        answers.name,
        about.root.display(),
        text::counted(groups.len() as u64, "group"),
        answers.keep_days
    )?;
    let has_no_tls = answers.tls.is_none();
    if has_no_tls && answers.readers.users {
        writeln!(
            out,
            "Without TLS it accepts no passwords in clear, so that most newsreaders elsewhere cannot log in."
        )?;
    }
    if has_no_tls && !answers.readers.are_local() {
        let name = &answers.name;
        writeln!(
            out,
            "A certificate, now or later (nntp.certificate and nntp.key in broadsheet.toml):\n    \
             certbot certonly --standalone -d {name}\nor, to try things,\n    \
             openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 -keyout key.pem -out cert.pem -subj /CN={name} \
             -addext subjectAltName=DNS:{name} -addext basicConstraints=critical,CA:FALSE"
        )?;
    }
    Ok(())
}

/// Adds the login, unless it is there. Returns the status to end with if it cannot be added.
fn add_login(directory: &NewsDirectory, name: &str) -> anyhow::Result<Option<Status>> {
    if Users::read(directory.root())?.named(name).is_some() {
        return Ok(None);
    }
    let mut user = User {
        name: name.to_owned(),
        password: None,
        scram: None,
        certificates: Vec::new(),
    };
    while let Err(refusal) = user.set_password(&new_password::ask(name)?, true) {
        if !std::io::stdin().is_terminal() {
            eprintln!("broadsheet: {refusal}; run setup again, which goes on here");
            return Ok(Some(Status::NO));
        }
        eprintln!("broadsheet: {refusal}");
    }
    let status = user_edit::edit(directory, |users| users.add(user))?;
    Ok((status != Status::OK).then_some(status))
}

/// Prints the next steps.
fn tell_next(
    given: &Given,
    (directory, root): (&NewsDirectory, &Path),
    starts_itself: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let settings = directory.settings()?.settings;
    let file = root.join(settings::FILE);
    writeln!(
        out,
        "\nThe settings are in {}, each with a comment.",
        file.display()
    )?;
    let addresses = server::socket::addresses(&settings.nntp.listen).unwrap_or_default();
    let port = addresses.first().map_or(119, std::net::SocketAddr::port);
    writeln!(
        out,
        "Newsreaders on this machine: server localhost, port {port}."
    )?;
    for site in &settings.sites.sites {
        let name = site.name.escape_ascii();
        writeln!(
            out,
            "`broadsheet peer show {name}' prints the lines for the administrator of {name}; `broadsheet peer test {name}' tries the connection."
        )?;
    }
    if starts_itself && !given.has("serve") {
        writeln!(
            out,
            "Start the server:\n    broadsheet serve --dir {}",
            shown(root)
        )?;
    }
    Ok(())
}

/// A path as a word of a shell.
fn shown(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    match path.chars().all(is_plain) {
        true => path,
        false => format!("'{}'", path.replace('\'', "'\\''")),
    }
}
