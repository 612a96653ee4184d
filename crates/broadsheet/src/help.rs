//! Help texts from the flag tables.

use std::io::{self, Write};

use crate::exit::{COMMON, Meaning};
use crate::flags::{Command, Flag, Kind, Section};
use crate::text::{self, WIDTH, beside};

/// Columns for flags and commands, left of their help.
const LEFT: usize = 22;

/// The list of all commands.
pub fn write_all(out: &mut dyn Write, sections: &[Section]) -> io::Result<()> {
    writeln!(out, "Broadsheet: netnews transport and NNTP server.\n")?;
    writeln!(out, "Usage: broadsheet COMMAND [FLAG...] [OPERAND...]\n")?;
    for section in sections {
        writeln!(out, "{}:", section.title)?;
        for command in section.commands {
            write!(out, "{}", beside(&command.name(), LEFT, command.summary))?;
        }
        writeln!(out)?;
    }
    let more = "`broadsheet help COMMAND' describes a command. A link to the program with a classic name \
                (rnews, relaynews) runs that command.";
    writeln!(out, "{}", text::wrap(more, WIDTH).join("\n"))
}

/// Some commands: those of a noun.
pub fn write_list(out: &mut dyn Write, commands: &[&Command]) -> io::Result<()> {
    for command in commands {
        write!(out, "{}", beside(&command.name(), LEFT, command.summary))?;
    }
    writeln!(out, "\n`broadsheet help COMMAND' describes a command.")
}

/// Everything about one command.
pub fn write_command(out: &mut dyn Write, command: &Command) -> io::Result<()> {
    writeln!(out, "broadsheet {}: {}\n", command.name(), command.summary)?;
    writeln!(out, "Usage: {}", usage(command))?;
    if !command.also.is_empty() {
        writeln!(out, "Also called: {}", command.also.join(", "))?;
    }
    if !command.about.is_empty() {
        writeln!(out, "\n{}", text::wrap(command.about, WIDTH).join("\n"))?;
    }
    for (title, kind) in [
        ("Flags", Kind::New),
        ("Classic flags", Kind::Classic),
        ("Refused flags", Kind::Refused),
    ] {
        write_flags(
            out,
            title,
            command.every_flag().filter(|flag| flag.kind == kind),
        )?;
    }
    writeln!(out, "\nExit status:")?;
    for meaning in exits(command) {
        write!(
            out,
            "{}",
            beside(&meaning.status.code().to_string(), 3, meaning.when)
        )?;
    }
    Ok(())
}

/// `broadsheet group match [FLAG...] PATTERN GROUP...`
pub fn usage(command: &Command) -> String {
    let operands = command.operands;
    let shown = match (operands.shown, operands.least) {
        ("", _) => String::new(),
        (shown, 0) => format!(" [{shown}]"),
        (shown, _) => format!(" {shown}"),
    };
    format!("broadsheet {} [FLAG...]{shown}", command.name())
}

/// How the flag stands in lists: a refused one has no long form to offer.
pub fn shown(flag: &Flag) -> String {
    match (flag.kind, flag.short) {
        (Kind::Refused, Some(letter)) => format!("-{letter}"),
        _ => flag.shown(),
    }
}

/// The command's exit statuses, then the common ones it does not give its own meaning.
pub fn exits(command: &Command) -> impl Iterator<Item = &'static Meaning> {
    let own = command.exits;
    own.iter().chain(
        COMMON
            .iter()
            .filter(move |common| own.iter().all(|own| own.status != common.status)),
    )
}

fn write_flags<'a>(
    out: &mut dyn Write,
    title: &str,
    flags: impl Iterator<Item = &'a Flag>,
) -> io::Result<()> {
    for (number, flag) in flags.enumerate() {
        if number == 0 {
            writeln!(out, "\n{title}:")?;
        }
        write!(out, "{}", beside(&shown(flag), LEFT, flag.help))?;
    }
    Ok(())
}
