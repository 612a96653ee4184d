//! Manual pages (roff, `man` macros) from the flag tables.

use std::io::{self, Write};

use crate::flags::{Command, Kind, Section};
use crate::help;

/// Section of the manual: these are commands of an administrator.
pub const SECTION: &str = "8";

/// The page's file name: `broadsheet-group-match.8`, or `broadsheet.8` for the page of all.
pub fn file_name(command: Option<&Command>) -> String {
    match command {
        Some(command) => format!("broadsheet-{}.{SECTION}", command.words.join("-")),
        None => format!("broadsheet.{SECTION}"),
    }
}

/// The page of one command.
pub fn write_command(out: &mut dyn Write, command: &Command) -> io::Result<()> {
    let page = format!("broadsheet-{}", command.words.join("-"));
    head(out, &page, command.summary)?;
    let shown = help::usage(command);
    writeln!(out, ".SH SYNOPSIS\n.B {}", escaped(&shown))?;
    for name in command.also {
        writeln!(
            out,
            ".br\n.B {name}\n[FLAG...] [{}]",
            escaped(command.operands.shown)
        )?;
    }
    writeln!(out, ".SH DESCRIPTION")?;
    paragraphs(out, command.about, command.summary)?;
    for (title, kind) in [
        ("OPTIONS", Kind::New),
        ("CLASSIC OPTIONS", Kind::Classic),
        ("REFUSED OPTIONS", Kind::Refused),
    ] {
        for (number, flag) in command
            .every_flag()
            .filter(|flag| flag.kind == kind)
            .enumerate()
        {
            if number == 0 {
                writeln!(out, ".SH {title}")?;
            }
            writeln!(
                out,
                ".TP\n.B {}\n{}",
                escaped(&help::shown(flag)),
                escaped(flag.help)
            )?;
        }
    }
    writeln!(out, ".SH EXIT STATUS")?;
    for meaning in help::exits(command) {
        writeln!(
            out,
            ".TP\n.B {}\n{}",
            meaning.status.code(),
            escaped(meaning.when)
        )?;
    }
    writeln!(
        out,
        ".SH ENVIRONMENT\n.TP\n.B BROADSHEET_DIR\nThe news directory, if \\-\\-dir is not given."
    )?;
    writeln!(out, ".SH SEE ALSO\n.BR broadsheet ({SECTION})")
}

/// The page that lists them all.
pub fn write_all(out: &mut dyn Write, sections: &[Section]) -> io::Result<()> {
    head(out, "broadsheet", "netnews transport and NNTP server")?;
    writeln!(
        out,
        ".SH SYNOPSIS\n.B broadsheet\nCOMMAND [FLAG...] [OPERAND...]"
    )?;
    writeln!(out, ".SH DESCRIPTION")?;
    writeln!(
        out,
        "Each command has its own manual page, and prints a description with \\-\\-help."
    )?;
    for section in sections {
        writeln!(out, ".SS {}", escaped(section.title))?;
        for command in section.commands {
            let page = format!("broadsheet-{}", command.words.join("-"));
            writeln!(
                out,
                ".TP\n.BR {} ({SECTION})\n{}",
                escaped(&page),
                escaped(command.summary)
            )?;
        }
    }
    Ok(())
}

fn head(out: &mut dyn Write, page: &str, summary: &str) -> io::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    writeln!(
        out,
        ".TH {} {SECTION} \"\" \"Broadsheet {version}\" \"Netnews\"",
        escaped(&page.to_uppercase())
    )?;
    writeln!(out, ".SH NAME\n{} \\- {}", escaped(page), escaped(summary))
}

/// Paragraphs, and examples (lines that begin with two blanks) unfilled.
fn paragraphs(out: &mut dyn Write, about: &str, instead: &str) -> io::Result<()> {
    if about.is_empty() {
        return writeln!(out, "{}.", escaped(instead));
    }
    let mut example = false;
    for line in about.lines() {
        let kept = line.starts_with("  ");
        if kept != example {
            writeln!(out, "{}", if kept { ".PP\n.nf" } else { ".fi" })?;
            example = kept;
        }
        match line {
            "" => writeln!(out, ".PP")?,
            line => writeln!(out, "{}", escaped(line))?,
        }
    }
    if example {
        writeln!(out, ".fi")
    } else {
        Ok(())
    }
}

/// Text that roff takes literally: backslash, dash, and a dot or quote that would begin a request.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    if text.starts_with(['.', '\'']) {
        out.push_str("\\&");
    }
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\e"),
            '-' => out.push_str("\\-"),
            '`' => out.push_str("\\(oq"),
            '\'' => out.push_str("\\(cq"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_in_text_are_disarmed() {
        assert_eq!(escaped(".so /etc/x"), "\\&.so /etc/x");
        assert_eq!(escaped("a\\b -x"), "a\\eb \\-x");
        assert_eq!(escaped("`it'"), "\\(oqit\\(cq");
    }
}
