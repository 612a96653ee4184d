//! Questions: answered by a flag, a line of standard input, or the usual answer.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use anyhow::Context;

use crate::flags::Given;
use crate::peer::entry::ANSWER_BYTES_MAX;
use crate::text;

/// Asks, and keeps the answers.
pub struct Asker<'g> {
    given: &'g Given,
    is_terminal: bool,
    /// Answers of an interrupted setup.
    earlier: Vec<(String, String)>,
    /// Each flag with its answer.
    answers: Vec<(&'static str, String)>,
    /// Flags of questions without an answer.
    missing: Vec<&'static str>,
}

impl<'g> Asker<'g> {
    /// Takes the flags of `given`, and answers of an interrupted setup as the usual ones.
    pub fn new(given: &'g Given, earlier: Vec<(String, String)>) -> Asker<'g> {
        Asker {
            given,
            is_terminal: io::stdin().is_terminal(),
            earlier,
            answers: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// Whether a person answers.
    pub fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Asks a question, whose answer can be `--flag` as well. `parse` returns what is wrong with an answer. `None`: standard input has ended.
    ///
    /// # Errors
    /// An answer is not usable, and nobody is there to correct it.
    pub fn ask<T>(
        &mut self,
        flag: &'static str,
        question: &str,
        usual: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> anyhow::Result<Option<T>> {
        let mut is_from_line = false;
        loop {
            let earlier = self.earlier.iter().find(|(name, _)| name == flag);
            let usual = earlier.map_or(usual, |(_, answer)| answer).to_owned();
            let answer = match self.given.value(flag) {
                Some(value) => value.to_string_lossy().into_owned(),
                None if self.given.has("yes") => usual,
                None => match self.line(question, &usual)? {
                    Some(line) => {
                        is_from_line = true;
                        line
                    }
                    None => {
                        self.missing.push(flag);
                        return Ok(None);
                    }
                },
            };
            match parse(answer.trim()) {
                Ok(parsed) => {
                    self.answers.push((flag, answer.trim().to_owned()));
                    return Ok(Some(parsed));
                }
                Err(why) if is_from_line && self.is_terminal => eprintln!("  {why}"),
                Err(_) if answer.is_empty() && self.given.value(flag).is_none() => {
                    self.missing.push(flag);
                    return Ok(None);
                }
                Err(why) => return Err(self.given.usage(format!("--{flag}: {why}")).into()),
            }
        }
    }

    /// The number of a flag without a question: that of the command line, else that of an interrupted setup, else the usual one, which is not
    /// recorded.
    ///
    /// # Errors
    /// It is not a number.
    pub fn number(&mut self, flag: &'static str, usual: u64) -> anyhow::Result<u64> {
        let earlier = self.earlier.iter().find(|(name, _)| name == flag);
        let earlier = earlier.and_then(|(_, answer)| answer.parse().ok());
        let Some(number) = self.given.number(flag)?.or(earlier) else {
            return Ok(usual);
        };
        self.answers.push((flag, number.to_string()));
        Ok(number)
    }

    /// Asks for a yes. Only on a terminal; elsewhere, and with `--yes`, the answer is `usual`.
    ///
    /// # Errors
    /// Standard input cannot be read.
    pub fn agrees(&self, question: &str, usual: bool) -> anyhow::Result<bool> {
        if !self.is_terminal || self.given.has("yes") {
            return Ok(usual);
        }
        let shown = if usual { "yes" } else { "no" };
        let line = self.line(question, shown)?.unwrap_or_default();
        Ok(matches!(line.trim(), "y" | "Y" | "yes" | "Yes" | "YES"))
    }

    /// One line, or the usual answer in place of an empty one; `None` at the end of standard input.
    fn line(&self, question: &str, usual: &str) -> anyhow::Result<Option<String>> {
        if !self.missing.is_empty() {
            return Ok(None);
        }
        for line in text::wrap(question, text::WIDTH) {
            eprintln!("{line}");
        }
        match usual {
            "" => eprint!("> "),
            usual => eprint!("[{usual}] > "),
        }
        io::stderr().flush()?;
        let mut line = Vec::new();
        let mut input = io::stdin().lock().take(ANSWER_BYTES_MAX);
        input
            .read_until(b'\n', &mut line)
            .context("cannot read the answer")?;
        if !self.is_terminal {
            eprintln!();
        }
        if line.is_empty() {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line).trim().to_owned();
        Ok(Some(if line.is_empty() {
            usual.to_owned()
        } else {
            line
        }))
    }

    /// The answers, each with its flag.
    ///
    /// # Errors
    /// Flags are missing.
    pub fn finish(self) -> anyhow::Result<Vec<(&'static str, String)>> {
        if self.missing.is_empty() {
            return Ok(self.answers);
        }
        let flags: Vec<String> = self
            .missing
            .iter()
            .map(|flag| format!("--{flag}"))
            .collect();
        let advice = match self.given.has("yes") {
            true => "",
            false => "; --yes takes the usual answers",
        };
        let told = format!(
            "answers are missing, and nothing was changed: add {}{advice}",
            flags.join(", ")
        );
        Err(self.given.usage(told).into())
    }
}
