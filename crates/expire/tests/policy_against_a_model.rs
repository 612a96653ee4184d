//! The policy against a slow, obvious model, over random policies, groups,
//! articles and clocks.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // helpers of tests, too

use expire::policy::Facts;
use expire::{ArticleWarning, Cutoffs, Explist, Policy, Verdict};
use groups::Active;
use groups::pattern::Pattern;
use proptest::prelude::*;

const DAY: i128 = 86_400;

/// A rule of the model: nothing is parsed, and nothing shared with the crate
/// except the matching of one pattern list.
#[derive(Debug, Clone)]
struct ModelRule {
    patterns: String,
    letter: char,
    /// Low, default, high in hundredths of a day; `None` is never.
    low: Option<u32>,
    default: Option<u32>,
    high: Option<u32>,
    archive: Option<&'static str>,
}

fn days(value: Option<u32>) -> String {
    value.map_or("never".into(), |value| {
        format!("{}.{:02}", value / 100, value % 100)
    })
}

impl ModelRule {
    fn line(&self) -> String {
        format!(
            "{} {} {}-{}-{} {}\n",
            self.patterns,
            self.letter,
            days(self.low),
            days(self.default),
            days(self.high),
            self.archive.unwrap_or("-")
        )
    }

    fn rules(&self, group: &str, moderated: bool) -> bool {
        let kind = match self.letter {
            'm' => moderated,
            'u' => !moderated,
            _ => true,
        };
        kind && Pattern::parse(self.patterns.as_bytes()).matches(group.as_bytes())
    }

    /// The classic test, word for word, in numbers that cannot overflow.
    fn goes(&self, arrival: i64, expires: Option<i64>, now: i64) -> bool {
        let before = |life: Option<u32>| match life {
            None => 0,
            Some(life) => (i128::from(now) - i128::from(life) * DAY / 100).max(0),
        };
        let date = i128::from(arrival);
        if date < 0 {
            return true;
        }
        if date >= before(self.low) {
            return false;
        }
        if date <= before(self.high) {
            return true;
        }
        match expires {
            Some(expires) => now >= expires,
            None => date < before(self.default),
        }
    }
}

fn life() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![1 => Just(None), 2 => Just(Some(0)), 6 => (0..40u32).prop_map(Some), 1 => (0..2_000_000u32).prop_map(Some)]
}

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "all", "c"])
}

fn patterns() -> impl Strategy<Value = String> {
    let one = (any::<bool>(), prop::collection::vec(word(), 1..4))
        .prop_map(|(not, words)| format!("{}{}", if not { "!" } else { "" }, words.join(".")));
    prop::collection::vec(one, 1..4).prop_map(|list| list.join(","))
}

fn rule() -> impl Strategy<Value = ModelRule> {
    (
        patterns(),
        prop::sample::select(vec!['m', 'u', 'x']),
        [life(), life(), life()],
        prop::sample::select(vec![None, Some("arch"), Some("=flat")]),
    )
        .prop_map(|(patterns, letter, mut lives, archive)| {
            lives.sort_by_key(|life| life.map_or(u64::MAX, u64::from));
            let [low, default, high] = lives;
            ModelRule {
                patterns,
                letter,
                low,
                default,
                high,
                archive,
            }
        })
}

fn group() -> impl Strategy<Value = (String, bool)> {
    let word = prop::sample::select(vec!["a", "b", "c", "d"]);
    (prop::collection::vec(word, 1..4), any::<bool>())
        .prop_map(|(words, moderated)| (words.join("."), moderated))
}

/// Clocks and dates near each other, near the epoch, and at the ends of time.
fn time() -> impl Strategy<Value = i64> {
    prop_oneof![
        8 => 0..40_000i64,
        4 => (0..60i64).prop_map(|step| step * 864),
        2 => -3..4i64,
        1 => 1_700_000_000..1_700_040_000i64,
        1 => any::<i64>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_decision_agrees_with_the_model(
        mut rules in prop::collection::vec(rule(), 1..8),
        last in prop::option::weighted(0.8, rule()),
        groups in prop::collection::btree_map("[abcd](\\.[abcd]){0,2}", any::<bool>(), 1..8),
        strangers in prop::collection::vec(group(), 0..4),
        articles in prop::collection::vec((time(), prop::option::of(time()), any::<bool>()), 1..30),
        now in time(),
    ) {
        // Most policies end in a line for all groups, as real ones do.
        rules.extend(last.map(|rule| ModelRule { patterns: "all".into(), letter: 'x', ..rule }));
        let text: String = rules.iter().map(ModelRule::line).collect();
        let table: String = groups
            .iter()
            .map(|(name, moderated)| format!("{name} 0000000000 00001 {}\n", if *moderated { 'm' } else { 'y' }))
            .collect();
        let active = Active::parse(table.into_bytes()).unwrap();
        let list = Explist::parse(text.as_bytes(), "explist", None).unwrap();
        let ruling = |name: &str, moderated| rules.iter().position(|rule| rule.rules(name, moderated));

        let uncovered: Vec<_> = active
            .ids()
            .map(|id| String::from_utf8(active.name(id).to_vec()).unwrap())
            .filter(|name| ruling(name, groups[name]).is_none())
            .collect();
        let (policy, warnings) = match Policy::compile(list, &active) {
            Ok(compiled) => {
                prop_assert!(uncovered.is_empty());
                compiled
            }
            Err(expire::Error::Uncovered { group, others, .. }) => {
                prop_assert_eq!(&uncovered[0], &group);
                prop_assert_eq!(uncovered.len(), others + 1);
                return Ok(());
            }
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        };

        let used: Vec<_> = groups.iter().filter_map(|(name, moderated)| ruling(name, *moderated)).collect();
        let unused: Vec<_> = (0..rules.len()).filter(|index| !used.contains(index)).map(|index| index + 1).collect();
        let warned: Vec<_> = warnings
            .iter()
            .filter_map(|warning| match warning {
                expire::Warning::Unused { line, .. } => Some(*line),
                expire::Warning::Flat { .. } => None,
            })
            .collect();
        prop_assert_eq!(warned, unused);

        for (name, moderated) in &strangers {
            let found = policy.rule_of_name(name.as_bytes(), *moderated).map(|rule| rule.line);
            prop_assert_eq!(found, ruling(name, *moderated).map(|index| index + 1));
        }

        for id in active.ids() {
            let name = std::str::from_utf8(active.name(id)).unwrap();
            let rule = &rules[ruling(name, groups[name]).unwrap()];
            let cut = policy.cutoffs(id, now);
            prop_assert!(cut.high <= cut.default && cut.default <= cut.low);
            for (arrival, expires, unreadable) in &articles {
                let (arrival, expires) = (*arrival, *expires);
                let facts = Facts { arrival, expires, expires_unreadable: *unreadable && expires.is_none() };
                let decision = policy.decide(facts, id, now);
                let goes = rule.goes(arrival, expires, now);
                let archive = match decision.verdict {
                    Verdict::Keep => { prop_assert!(!goes); None }
                    Verdict::Remove { archive } => { prop_assert!(goes); archive }
                };
                if goes {
                    prop_assert_eq!(
                        archive.map(|archive| archive.path.as_slice()),
                        rule.archive.map(|path| path.trim_start_matches('=').as_bytes())
                    );
                }
                // The cut-offs agree without reading the article.
                prop_assert_eq!(cut.remove(arrival, expires, now), goes);
                match expires {
                    None => prop_assert_eq!(arrival < cut.default, goes),
                    Some(_) if arrival < cut.high => prop_assert!(goes),
                    Some(_) if arrival >= cut.low => prop_assert!(!goes),
                    Some(expires) => prop_assert_eq!(now >= expires, goes),
                }
                let want = if arrival < 0 {
                    Some(ArticleWarning::ArrivalUnreadable)
                } else if arrival > now {
                    prop_assert!(!goes);
                    Some(ArticleWarning::ArrivalInFuture)
                } else if *unreadable && expires.is_none() {
                    Some(ArticleWarning::ExpiresUnreadable)
                } else {
                    None
                };
                prop_assert_eq!(decision.warning, want);
            }
        }
    }
}

#[test]
fn keep_keeps_everything() {
    for arrival in [i64::MIN, -1, 0, i64::MAX] {
        assert!(!Cutoffs::KEEP.remove(arrival, None, i64::MAX));
        assert!(!Cutoffs::KEEP.remove(arrival, Some(0), i64::MAX));
    }
}
