//! Completions for bash, zsh and fish from the flag tables.

use std::io::{self, Write};

use crate::command_set::CommandSet;
use crate::flags::{Command, Flag, Kind};

/// The shells a completion can be written for.
pub const SHELLS: &[&str] = &["bash", "zsh", "fish"];

/// The completion for `shell`, or `None` for a shell not in `SHELLS`.
pub fn write(out: &mut dyn Write, shell: &str, all: CommandSet) -> Option<io::Result<()>> {
    match shell {
        "bash" => Some(bash(out, all)),
        "zsh" => Some(zsh(out, all)),
        "fish" => Some(fish(out, all)),
        _ => None,
    }
}

fn offered(command: &Command) -> impl Iterator<Item = &'static Flag> {
    command
        .every_flag()
        .filter(|flag| flag.kind != Kind::Refused)
}

/// Commands whose own word is that of a classic program, so that a link may have it.
const CLASSIC_WORDS: &str = "rnews expire histinfo upact expov";

/// First words, each once, in table order.
fn first_words(all: CommandSet) -> Vec<&'static str> {
    let mut words: Vec<&'static str> = Vec::new();
    for first in all.all().filter_map(|command| command.words.first()) {
        if !words.contains(first) {
            words.push(first);
        }
    }
    words
}

/// Second words of a noun: `group` has `match`, `list`, ...
fn second_words(all: CommandSet, noun: &str) -> Vec<&'static str> {
    all.all()
        .filter(|command| command.words.first() == Some(&noun))
        .filter_map(|command| command.words.get(1).copied())
        .collect()
}

fn nouns(all: CommandSet) -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    first_words(all)
        .into_iter()
        .map(move |word| (word, second_words(all, word)))
        .filter(|(_, verbs)| !verbs.is_empty())
}

fn bash(out: &mut dyn Write, all: CommandSet) -> io::Result<()> {
    writeln!(
        out,
        "# bash completion for broadsheet; written by `broadsheet completion bash'"
    )?;
    writeln!(out, "_broadsheet() {{")?;
    writeln!(
        out,
        "  local cur=\"${{COMP_WORDS[COMP_CWORD]}}\" prev=\"${{COMP_WORDS[COMP_CWORD-1]}}\" words="
    )?;
    writeln!(out, "  COMPREPLY=()")?;
    writeln!(out, "  local command=\"${{COMP_WORDS[0]##*/}}\"")?;
    writeln!(out, "  if [[ $command == broadsheet ]]; then")?;
    writeln!(out, "    if (( COMP_CWORD == 1 )); then")?;
    writeln!(
        out,
        "      COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return",
        first_words(all).join(" ")
    )?;
    writeln!(out, "    fi")?;
    writeln!(out, "    command=\"${{COMP_WORDS[1]}}\"")?;
    writeln!(out, "    case \"$command\" in")?;
    for (noun, verbs) in nouns(all) {
        writeln!(out, "    {noun})")?;
        writeln!(out, "      if (( COMP_CWORD == 2 )); then")?;
        writeln!(
            out,
            "        COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return",
            verbs.join(" ")
        )?;
        writeln!(out, "      fi")?;
        writeln!(out, "      command=\"{noun} ${{COMP_WORDS[2]}}\" ;;")?;
    }
    writeln!(out, "    esac\n  fi")?;
    writeln!(out, "  case \"$command:$prev\" in")?;
    for command in all.all() {
        for flag in offered(command) {
            bash_value(out, command, flag)?;
        }
    }
    writeln!(out, "  esac")?;
    writeln!(out, "  case \"$command\" in")?;
    for command in all.all() {
        let flags: Vec<String> = offered(command)
            .map(|flag| format!("--{}", flag.name))
            .collect();
        writeln!(
            out,
            "  {}) words='{}' ;;",
            patterns(command),
            flags.join(" ")
        )?;
    }
    writeln!(out, "  esac")?;
    writeln!(
        out,
        "  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))"
    )?;
    writeln!(out, "  else COMPREPLY=($(compgen -f -- \"$cur\")); fi\n}}")?;
    let also: Vec<&str> = all
        .all()
        .flat_map(|command| command.also.iter().copied())
        .collect();
    writeln!(
        out,
        "complete -F _broadsheet broadsheet {CLASSIC_WORDS} {}",
        also.join(" ")
    )
}

/// The value of one flag, after its long or short form.
fn bash_value(out: &mut dyn Write, command: &Command, flag: &Flag) -> io::Result<()> {
    let Some(value) = flag.value else {
        return Ok(());
    };
    let action = match flag.choices() {
        Some(choices) => format!("-W '{}'", choices.collect::<Vec<_>>().join(" ")),
        None if value == "DIR" => "-d".to_owned(),
        None if value == "FILE" => "-f".to_owned(),
        None => return Ok(()),
    };
    for name in names(command) {
        let short = flag
            .short
            .map(|letter| format!("|'{name}:-{letter}'"))
            .unwrap_or_default();
        let long = flag.name;
        writeln!(
            out,
            "  '{name}:--{long}'{short}) COMPREPLY=($(compgen {action} -- \"$cur\")); return ;;"
        )?;
    }
    Ok(())
}

/// The command's own name and the classic ones.
fn names(command: &Command) -> Vec<String> {
    std::iter::once(command.name())
        .chain(command.also.iter().map(|name| (*name).to_owned()))
        .collect()
}

fn patterns(command: &Command) -> String {
    names(command)
        .iter()
        .map(|name| format!("'{name}'"))
        .collect::<Vec<_>>()
        .join("|")
}

fn zsh(out: &mut dyn Write, all: CommandSet) -> io::Result<()> {
    let also: Vec<&str> = all
        .all()
        .flat_map(|command| command.also.iter().copied())
        .collect();
    writeln!(
        out,
        "#compdef broadsheet {CLASSIC_WORDS} {}",
        also.join(" ")
    )?;
    writeln!(
        out,
        "# zsh completion for broadsheet; written by `broadsheet completion zsh'"
    )?;
    writeln!(out, "_broadsheet() {{")?;
    writeln!(out, "  local command=${{service:t}} skip=0")?;
    writeln!(out, "  if [[ $command == broadsheet ]]; then")?;
    writeln!(
        out,
        "    if (( CURRENT == 2 )); then compadd -- {}; return; fi",
        first_words(all).join(" ")
    )?;
    writeln!(out, "    command=$words[2] skip=1")?;
    writeln!(out, "    case $command in")?;
    for (noun, verbs) in nouns(all) {
        writeln!(out, "    {noun})")?;
        writeln!(
            out,
            "      if (( CURRENT == 3 )); then compadd -- {}; return; fi",
            verbs.join(" ")
        )?;
        writeln!(out, "      command=\"{noun} $words[3]\" skip=2 ;;")?;
    }
    writeln!(out, "    esac\n  fi")?;
    writeln!(out, "  shift $skip words; (( CURRENT -= skip ))")?;
    writeln!(out, "  case $command in")?;
    for command in all.all() {
        writeln!(out, "  {})\n    _arguments \\", patterns(command))?;
        for flag in offered(command) {
            let help = zsh_text(flag.help);
            let action = zsh_action(flag);
            writeln!(out, "      '--{}[{help}]{action}' \\", flag.name)?;
            if let Some(letter) = flag.short {
                writeln!(out, "      '-{letter}[{help}]{action}' \\")?;
            }
        }
        writeln!(out, "      '*:operand:_files' ;;")?;
    }
    writeln!(out, "  esac\n}}\n_broadsheet \"$@\"")
}

fn zsh_action(flag: &Flag) -> String {
    let Some(value) = flag.value else {
        return String::new();
    };
    match flag.choices() {
        Some(choices) => format!(":word:({})", choices.collect::<Vec<_>>().join(" ")),
        None if value == "DIR" => ":directory:_files -/".to_owned(),
        None if value == "FILE" => ":file:_files".to_owned(),
        None => format!(":{value}: "),
    }
}

/// Help inside a quoted `_arguments` specification, whose own signs are brackets and colons.
fn zsh_text(help: &str) -> String {
    let plain = help.replace('\'', "'\\''");
    plain
        .replace('[', "\\[")
        .replace(']', "\\]")
        .replace(':', "\\:")
}

fn fish(out: &mut dyn Write, all: CommandSet) -> io::Result<()> {
    writeln!(
        out,
        "# fish completion for broadsheet; written by `broadsheet completion fish'"
    )?;
    let first = first_words(all).join(" ");
    for command in all.all() {
        let (word, seen) = match command.words {
            [noun, verb] => {
                let verbs = second_words(all, noun).join(" ");
                (
                    *verb,
                    format!(
                        "__fish_seen_subcommand_from {noun}; and not __fish_seen_subcommand_from {verbs}"
                    ),
                )
            }
            words => (
                words.first().copied().unwrap_or_default(),
                format!("not __fish_seen_subcommand_from {first}"),
            ),
        };
        writeln!(
            out,
            "complete -c broadsheet -n '{seen}' -f -a {word} -d {}",
            fish_quoted(command.summary)
        )?;
    }
    for (noun, _) in nouns(all) {
        writeln!(
            out,
            "complete -c broadsheet -n 'not __fish_seen_subcommand_from {first}' -f -a {noun}"
        )?;
    }
    for command in all.all() {
        let seen: Vec<String> = command
            .words
            .iter()
            .map(|word| format!("__fish_seen_subcommand_from {word}"))
            .collect();
        let within = format!("-c broadsheet -n '{}'", seen.join("; and "));
        for flag in offered(command) {
            fish_flag(out, &within, flag)?;
            for name in command.also {
                fish_flag(out, &format!("-c {name}"), flag)?;
            }
        }
    }
    Ok(())
}

fn fish_flag(out: &mut dyn Write, within: &str, flag: &Flag) -> io::Result<()> {
    let short = flag
        .short
        .map(|letter| format!(" -s {letter}"))
        .unwrap_or_default();
    let value = match (flag.value, flag.choices()) {
        (_, Some(choices)) => format!(" -x -a '{}'", choices.collect::<Vec<_>>().join(" ")),
        (Some("DIR"), _) => " -x -a '(__fish_complete_directories)'".to_owned(),
        (Some(_), _) => " -r".to_owned(),
        (None, _) => String::new(),
    };
    writeln!(
        out,
        "complete {within}{short} -l {}{value} -d {}",
        flag.name,
        fish_quoted(flag.help)
    )
}

fn fish_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
