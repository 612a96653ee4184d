//! Any input is refused, or becomes an article that the relay accepts.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::site;
use std::convert::Infallible;

use article::date::Utc;
use article::{Article, Form};
use groups::Matrix;
use groups::Sites;
use inject::Route;
use proptest::prelude::*;
use relay::decide::Scratch;
use relay::{Arrival, Decision, State, decide};
use site::{JANE, NOW, TestSite};

/// The text of an article that the relay did not accept, and the reason.
fn not_accepted(site: &TestSite, post: &[u8], may_approve: bool) -> Option<String> {
    let poster = inject::Poster {
        sender: &inject::EveryGroup { may_approve },
        ..JANE
    };
    let done = site.post_locked(post, &poster).ok()?;
    if done.route != Route::File {
        return None;
    }
    let article = Article::parse(&done.bytes, Form::Native);
    let sites = Sites::parse(b"ME:all\n", b"news.example.org").unwrap();
    let mut matrix = Matrix::new(&site.active, &sites);
    let mut state = State {
        active: &site.active,
        matrix: &mut matrix,
        zone: &Utc,
        sender: None,
        is_announced: false,
    };
    let arrival = Arrival { seconds: NOW };
    let unseen = |_: &[u8]| Ok::<bool, Infallible>(false);
    let rules = &site.rules.limits;
    let decision = decide(
        &article,
        arrival,
        &mut state,
        rules,
        unseen,
        &mut Scratch::default(),
    );
    match decision.unwrap() {
        Decision::Accept { .. } => None,
        Decision::Refuse { reason, .. } => Some(format!(
            "{}: {}",
            String::from_utf8_lossy(&reason.text()),
            String::from_utf8_lossy(&done.bytes)
        )),
    }
}

/// Headers that are nearly valid.
fn header() -> impl Strategy<Value = String> {
    let name = "Newsgroups|Subject|From|Date|Message-ID|Path|Control|Approved|Expires|X-a|References|Supersedes|Distribution|Sender|message-id|XREF| x|Sub ject";
    let value = "misc\\.(test|mod|j|no|x)(,old\\.test|,no\\.such)?|a@b|<1\\.2@a>|<@>|20 Dec 1993 04:00( GMT)?|a!b!c|cancel <1@a>|newgroup x|[ -~]{0,12}|\\PC{0,5}|\n\tx|[\\x00-\\x20]{0,3}";
    (name, value).prop_map(|(name, value)| format!("{name}: {value}\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes(bytes: Vec<u8>, may_approve: bool) {
        prop_assert_eq!(not_accepted(&TestSite::new(), &bytes, may_approve), None);
    }

    #[test]
    fn nearly_valid_posts(
        headers in proptest::collection::vec(header(), 0..5),
        groups in "misc\\.(test|j|mod)|old.test",
        body in "\\PC{1,20}",
        may_approve: bool,
    ) {
        let post = format!("{}Newsgroups: {groups}\nSubject: s\n\n{body}", headers.concat());
        prop_assert_eq!(not_accepted(&TestSite::new(), post.as_bytes(), may_approve), None);
    }
}
