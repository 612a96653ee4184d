//! Inputs of which nothing has the form of an article, and what follows the end of compressed ones.

use article::wrap::UpToEnd;
use article::{Article, Form, Header, message_id, old};

use super::{InputState, Run, Status};
use crate::file::Verdict;
use crate::input::Source;
use crate::reason::RefusalKind;

/// Whether the header of an article of a batch is that of an article.
pub(super) enum OfArticle {
    Yes,
    /// It is not, for this reason.
    No(Vec<u8>),
}

/// The forms of the articles of an input.
#[derive(Default)]
pub(super) struct FormCounts {
    /// One has the form of an article.
    has_some: bool,
    /// Number of those without, as long as none has it.
    without: u64,
    /// The reason for the first of them.
    first: Vec<u8>,
}

impl FormCounts {
    pub(super) fn has_some(&self) -> bool {
        self.has_some
    }

    pub(super) fn add(&mut self, form: OfArticle) {
        match form {
            OfArticle::Yes => self.has_some = true,
            OfArticle::No(why) => {
                if self.without == 0 {
                    self.first = why;
                }
                self.without += 1;
            }
        }
    }
}

/// The form of an article by its verdict. A node of a cluster has none yet; then the header decides, unless another article of the input `has_some`.
pub(super) fn form_of(bytes: &[u8], verdict: Option<&Verdict>, has_some: bool) -> OfArticle {
    match verdict {
        Some(Verdict::Refused(refusal))
            if refusal.kind == RefusalKind::Malformed
                // What is no news may look like a header without end.
                || refusal.kind == RefusalKind::Size && !has_form(bytes) =>
        {
            OfArticle::No(refusal.text.clone())
        }
        None if !has_some => match fault(bytes) {
            Some(why) => OfArticle::No(why.into_bytes()),
            None => OfArticle::Yes,
        },
        _ => OfArticle::Yes,
    }
}

/// Whether bytes begin with the header of an article, whatever their size.
pub(super) fn has_form(bytes: &[u8]) -> bool {
    fault(bytes).is_none()
}

fn fault(bytes: &[u8]) -> Option<String> {
    let mut converted = Vec::new();
    let mut article = Article::parse(bytes, Form::Native);
    if old::convert(&article, &mut converted) {
        article = Article::parse(&converted, Form::Native);
    }
    let error = article.error().copied();
    if let Some(error) = error.or_else(|| article.required().err()) {
        return Some(error.to_string());
    }
    let id = article.value(Header::MessageId).unwrap_or_default();
    message_id::check(id).err().map(|error| error.to_string())
}

impl Run<'_> {
    /// Saves an input that has articles by its `#! rnews` lines, none of which has the form of one: it was made wrongly, or changed on its way, and
    /// a corrected one may be filed.
    pub(super) fn refuse_without_form(&mut self, source: &Source, state: &mut InputState) {
        let forms = &state.forms;
        if forms.has_some || forms.without == 0 || state.saved.is_some() {
            return;
        }
        let what = format!(
            "none of its {} articles has the header of an article; the first: {}",
            forms.without,
            groups::shown(&forms.first)
        );
        self.save(source, state);
        self.report_bad(source, state, Status::Bad, &what);
    }

    /// Reports what follows the end of compressed data. Text is ignored; of other data nobody knows whether the batch is whole.
    pub(super) fn end_of_wrapper<R>(
        &mut self,
        wrapped: &UpToEnd<R>,
        source: &Source,
        state: &mut InputState,
    ) {
        if let Some(error) = wrapped.followed_by() {
            self.save(source, state);
            self.report_bad(source, state, Status::Bad, &error.to_string());
        } else if let Some(trailer) = wrapped.unwrapped().trailer() {
            self.watch.message(&format!("{}: {trailer}", source.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filed_has_the_form_of_an_article() {
        let early = "Path: a!u\nFrom: a!u\nNewsgroups: net.x\nTitle: t\nArticle-I.D.: a.12\n\
                     Posted: Sat Apr 16 01:34:35 1983\n\nbody\n";
        let five =
            "Aucbvax.1234\nNET.general\nucbvax!mark\nSat Apr 16 01:34:35 1983\na title\nbody\n";
        let without_at = early.replace("Article-I.D.: a.12", "Message-ID: <12>");
        for (text, right) in [
            (early, None),
            (five, None),
            (&without_at, Some("no @ in Message-ID")),
            ("X: y\n\n", Some("no Message-ID: header")),
        ] {
            let found = fault(text.as_bytes());
            assert_eq!(found.as_deref(), right, "{text}");
        }
    }
}
