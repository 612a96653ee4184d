//! The news directory of a setup: its settings, made of the answers.

use std::path::Path;

use anyhow::Context;
use settings::{Settings, quoted, template};

use super::answers::Answers;
use crate::command::init;
use crate::keep_free;
use crate::peer::entry::{self, FOR_OTHERS};
use crate::peer::exchanged::ExchangedGroups;

/// The text of broadsheet.toml.
///
/// # Errors
/// The settings that follow from the answers are not valid.
pub fn settings_text(answers: &Answers, root: &Path) -> anyhow::Result<(Settings, String)> {
    let mut settings = Settings {
        name: answers.name.clone(),
        ..Settings::default()
    };
    if !answers.uses_sockets {
        settings.nntp.listen = listen(answers, answers.port);
    }
    if let Some([certificate, key]) = &answers.tls {
        settings.nntp.certificate = certificate.display().to_string();
        settings.nntp.key = key.display().to_string();
        if !answers.uses_sockets {
            settings.nntp.listen_tls = listen(answers, answers.tls_port);
        }
    }
    let mut text = keep_free::set_in(&template(&settings), answers.keep_free);
    text += &access(answers);
    let groups = ExchangedGroups::of_patterns(FOR_OTHERS).wildmat.text;
    for peer in &answers.peers {
        let site = entry::site(&peer.name, &peer.host, FOR_OTHERS, &[]);
        let entry = entry::access(&peer.name, &peer.from, &groups, false);
        text = entry::with(&text, Some(&site), Some(&entry));
    }
    let path = root.join(settings::FILE);
    let settings = entry::parsed(&path, &text)?;
    Ok((settings, text))
}

/// The value of `nntp.listen`: the loopback addresses if the server has no readers and peers elsewhere, else all.
fn listen(answers: &Answers, port: u16) -> String {
    if !answers.readers.are_local() || !answers.peers.is_empty() {
        return format!("*:{port}");
    }
    let has_ipv6 = std::net::TcpListener::bind(("::1", 0)).is_ok();
    match has_ipv6 {
        true => format!("127.0.0.1:{port}, [::1]:{port}"),
        false => format!("127.0.0.1:{port}"),
    }
}

/// The `[[access]]` tables for readers. The one of users comes first, since the others match without a login, too.
fn access(answers: &Answers) -> String {
    let readers = &answers.readers;
    let mut text = String::new();
    if readers.users {
        text += "\n[[access]]\nname = \"users\"\nusers = [\"*\"]\nread = \"*\"\npost = \"*\"\n";
    }
    text += &format!("\n{}", entry::LOCAL);
    if !readers.networks.is_empty() {
        let networks: Vec<String> = readers
            .networks
            .iter()
            .map(|network| quoted(network))
            .collect();
        text += &format!(
            "\n[[access]]\nname = \"networks\"\nfrom = [{}]\nread = \"*\"\npost = \"*\"\n",
            networks.join(", ")
        );
    }
    if readers.anyone {
        text += "\n[[access]]\nname = \"anyone\"\nread = \"*\"\n";
    }
    text
}

/// Makes the directory; an interrupted one is made again.
///
/// # Errors
/// It cannot be made.
pub fn make(root: &Path, answers: &Answers, settings: &Settings, text: &str) -> anyhow::Result<()> {
    let (active, _) = init::with_needed_groups(answers.groups.active.clone())?;
    init::make_by_setup(
        root,
        settings,
        (&active, &answers.groups.newsgroups),
        answers.keep_days,
        text,
    )
    .with_context(|| "the news directory is not complete; run setup again")
}
