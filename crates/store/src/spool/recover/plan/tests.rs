#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use proptest::prelude::*;

use super::*;
use crate::log::segment::SEGMENT_HEADER_BYTES;
use crate::spool::recover::evidence::{MarkRun, Marks, SegmentEvidence, Syncs};
use crate::spool::recover::start::{TornCommits, place_of};

const BASE: u64 = 4096;
const SPAN: u64 = 1 << 20;

/// The *applied* mark of the table.
const APPLIED: Watermark = Watermark {
    sequence: 9,
    base: BASE,
    art_end: 1000,
    his_end: 100,
    ovr_end: 200,
    cancels_end: 30,
    exp_end: 40,
    newest: 0,
};

/// The *checkpoint* mark of the table.
const CHECKPOINT: Watermark = Watermark {
    sequence: 5,
    art_end: 500,
    his_end: 50,
    ovr_end: 100,
    cancels_end: 10,
    exp_end: 20,
    ..APPLIED
};

fn sound(length: u64) -> ArtEvidence {
    ArtEvidence::Sound {
        length,
        span: SPAN,
        form: SegmentForm::Plain,
    }
}

fn damaged(length: u64) -> ArtEvidence {
    ArtEvidence::Damaged {
        length,
        offset: 0,
        what: "the segment's header is not ours",
    }
}

fn surveyed(segments: &[(u64, ArtEvidence)]) -> Option<LogSurvey> {
    let segments = segments.iter();
    Some(LogSurvey {
        segments: segments
            .map(|&(base, art)| SegmentEvidence { base, art })
            .collect(),
        newest_history_end: None,
        unreadable_histories: Vec::new(),
    })
}

/// The state after the normal end of a program.
fn as_left() -> Evidence {
    Evidence {
        segment_bytes: SPAN,
        losses: Losses::Refuse,
        role: Role::Alone,
        known_whole: None,
        index: IndexEvidence::Found(Marks {
            run: MarkRun::SinceMount,
            syncs: Syncs::Good,
            published: Some(APPLIED),
            checkpoint: Some(CHECKPOINT),
            synced: Some(place_of(APPLIED)),
        }),
        key: KeyEvidence::Right,
        active: ActiveEvidence::AsWritten,
        expired: Presence::Present,
        cancels: CancelsEvidence::Whole { length: 30 },
        marked: Some(MarkedSegment {
            art: sound(1000),
            his: 100,
            ovr: 200,
            exp: 40,
            content: DerivedContent::Fits,
        }),
        survey: None,
    }
}

/// The state in which something is wrong with the marked segment, the only one.
fn with_marked(change: impl Fn(&mut MarkedSegment)) -> Evidence {
    let mut evidence = as_left();
    let mut marked = evidence.marked.unwrap();
    change(&mut marked);
    evidence.survey = surveyed(&[(BASE, marked.art)]);
    evidence.marked = Some(marked);
    evidence
}

fn with_marks(evidence: Evidence, change: impl Fn(&mut Marks)) -> Evidence {
    let IndexEvidence::Found(mut marks) = evidence.index else {
        panic!("it has an index");
    };
    change(&mut marks);
    Evidence {
        index: IndexEvidence::Found(marks),
        ..evidence
    }
}

/// What is known where the marks of the table are of this run of the machine.
const KNOWN: Known = Known {
    whole: 1000,
    doubtful: Some(1000),
    settled: 1000,
    torn_commits: TornCommits::AreCut,
};

fn replay(base: u64, place: SegmentPlace, known: Known) -> SpoolStep {
    SpoolStep::Replay(SegmentReplay { base, place, known })
}

fn restart(cancels_end: u64) -> Watermark {
    Watermark {
        cancels_end,
        ..start_of_segment(BASE)
    }
}

/// A row of the table: the state in the words of docs/formats/README.md, evidence, the steps on files, the goal.
type Row = (&'static str, Evidence, Vec<FileStep>, Goal);

fn table() -> Vec<Row> {
    use FileStep as F;
    use SpoolStep as S;
    let named = || F::RemoveUnfinished(Unfinished::Named);
    // The end of each replay, in this run of the machine and after a power cut.
    let replayed = || {
        vec![
            S::ForgetCancelsBehindEnd,
            S::FinishGroups,
            S::RestoreStates(StatesRestored::Replayed),
            S::SyncDirectories,
            S::Checkpoint,
            S::ReportRecovered,
            S::FinishErasures,
            S::LogActive(ActiveEdit::IfReplayTells),
        ]
    };
    let replayed_after_cut = || {
        let mut steps = replayed();
        steps.insert(3, S::RewriteActive);
        steps
    };
    let renewed = |mut steps: Vec<SpoolStep>| {
        steps.splice(
            2..3,
            [S::RestoreStates(StatesRestored::All), S::RestoreGroupFiles],
        );
        let checkpoint = steps
            .iter()
            .position(|step| *step == S::Checkpoint)
            .unwrap();
        steps.insert(checkpoint + 1, S::PlaceIndex);
        steps
    };
    let then = |first: Vec<SpoolStep>, rest: Vec<SpoolStep>| [first, rest].concat();
    let second = BASE + SPAN;
    vec![
        (
            "every file ends where the *applied* mark in `index` says, and the mark is of this run of the machine",
            as_left(),
            vec![named()],
            Goal::Open(APPLIED, vec![S::FinishErasures]),
        ),
        (
            "files are longer than the mark says",
            with_marked(|files| files.art = sound(1200)),
            vec![named()],
            Goal::Open(
                APPLIED,
                then(vec![replay(BASE, SegmentPlace::Newest, KNOWN)], replayed()),
            ),
        ),
        (
            "the mark is of an earlier run of the machine, or of an earlier mount",
            with_marks(with_marked(|_| {}), |marks| marks.run = MarkRun::Earlier),
            vec![named()],
            Goal::Open(
                CHECKPOINT,
                then(
                    vec![
                        S::CheckActive(ActiveCheck::Lines),
                        replay(
                            BASE,
                            SegmentPlace::Newest,
                            Known {
                                doubtful: None,
                                settled: 500,
                                ..KNOWN
                            },
                        ),
                    ],
                    replayed_after_cut(),
                ),
            ),
        ),
        (
            // The same run of the machine: the end of the log is written again.
            "the mark is of an earlier run of the machine, or of an earlier mount",
            with_marks(with_marked(|_| {}), |marks| {
                marks.run = MarkRun::BeforeMount
            }),
            vec![named()],
            Goal::Open(
                CHECKPOINT,
                then(
                    vec![
                        S::CheckActive(ActiveCheck::Lines),
                        replay(
                            BASE,
                            SegmentPlace::Newest,
                            Known {
                                settled: 500,
                                ..KNOWN
                            },
                        ),
                    ],
                    replayed_after_cut(),
                ),
            ),
        ),
        (
            "word 10 of `index` is set, in this run of the machine",
            with_marks(with_marked(|_| {}), |marks| marks.syncs = Syncs::Doubted),
            vec![named(), F::Report(Notice::SyncDoubted)],
            Goal::Open(
                restart(10),
                then(
                    vec![
                        S::CheckActive(ActiveCheck::Lines),
                        S::RenewDerived(BASE),
                        S::RenewCancels(10),
                        S::RenewIndex,
                        S::OpenDerived(restart(10)),
                        replay(
                            BASE,
                            SegmentPlace::Newest,
                            Known {
                                settled: 500,
                                ..KNOWN
                            },
                        ),
                    ],
                    renewed(replayed_after_cut()),
                ),
            ),
        ),
        (
            "no `index`, or its header is damaged or without a mark",
            Evidence {
                index: IndexEvidence::Missing,
                active: ActiveEvidence::Unrecorded,
                cancels: CancelsEvidence::Unmarked,
                marked: None,
                survey: surveyed(&[(BASE, sound(1200))]).map(|survey| LogSurvey {
                    newest_history_end: Some(900),
                    ..survey
                }),
                ..as_left()
            },
            vec![
                F::RemoveUnfinished(Unfinished::NamedAndRebuilt),
                F::Report(Notice::IndexRebuilt),
                F::MakeIndex(BASE),
            ],
            Goal::Open(
                restart(0),
                then(
                    vec![
                        S::ReportActiveFaults,
                        S::CheckActive(ActiveCheck::LinesAndEnd),
                        S::CollectCancels(OldCancels::StandIn),
                        S::RenewDerived(BASE),
                        S::OpenDerived(restart(0)),
                        S::PutCancels,
                        replay(
                            BASE,
                            SegmentPlace::Newest,
                            Known {
                                whole: 900,
                                doubtful: None,
                                settled: 0,
                                torn_commits: TornCommits::MayBeWhole,
                            },
                        ),
                    ],
                    {
                        let mut steps = renewed(replayed_after_cut());
                        steps.pop();
                        steps.push(S::LogActive(ActiveEdit::Certain));
                        steps
                    },
                ),
            ),
        ),
        (
            "`index` of another `index.key`",
            Evidence {
                key: KeyEvidence::Wrong,
                ..as_left()
            },
            vec![named(), F::Report(Notice::KeyLost)],
            Goal::Open(APPLIED, vec![S::RebuildIndex, S::FinishErasures]),
        ),
        (
            "a newer segment with a damaged header and no content",
            Evidence {
                survey: surveyed(&[(BASE, sound(1000)), (second, damaged(0))]),
                ..with_marks(with_marked(|_| {}), |marks| marks.run = MarkRun::Earlier)
            },
            vec![named()],
            Goal::Open(
                CHECKPOINT,
                then(
                    vec![
                        S::CheckActive(ActiveCheck::Lines),
                        replay(
                            BASE,
                            SegmentPlace::Sealed,
                            Known {
                                doubtful: None,
                                settled: 500,
                                ..KNOWN
                            },
                        ),
                        S::SealDerived,
                        S::BeginSegment(second),
                        S::EnterSegment(second),
                        replay(
                            second,
                            SegmentPlace::Newest,
                            Known {
                                whole: 0,
                                doubtful: None,
                                settled: 0,
                                ..KNOWN
                            },
                        ),
                    ],
                    replayed_after_cut(),
                ),
            ),
        ),
        (
            "the last two blocks of `.his` or `.exp` before the mark are not history lines of this segment",
            with_marked(|files| files.content = DerivedContent::Overwritten),
            vec![named()],
            Goal::Open(
                APPLIED,
                then(
                    vec![
                        S::Report(Notice::DerivedWereOverwritten(BASE)),
                        S::RenewDerived(BASE),
                        S::RenewCancels(30),
                        S::RenewIndex,
                        S::OpenDerived(restart(30)),
                        replay(BASE, SegmentPlace::Newest, KNOWN),
                    ],
                    renewed(replayed()),
                ),
            ),
        ),
        (
            "`.ovr` of the current segment already merged, the mark still describes the blocks",
            with_marked(|files| {
                files.ovr = 150;
                files.content = DerivedContent::DoesNotFit;
            }),
            vec![named()],
            Goal::Open(
                APPLIED,
                then(
                    vec![
                        S::Report(Notice::DerivedDidNotFit(BASE)),
                        S::RenewDerived(BASE),
                        S::RenewCancels(30),
                        S::RenewIndex,
                        S::OpenDerived(restart(30)),
                        replay(BASE, SegmentPlace::Newest, KNOWN),
                    ],
                    renewed(replayed()),
                ),
            ),
        ),
        (
            "no `active`",
            Evidence {
                active: ActiveEvidence::Missing,
                ..as_left()
            },
            vec![named(), F::RebuildActive],
            Goal::Open(
                APPLIED,
                vec![S::FinishErasures, S::LogActive(ActiveEdit::Certain)],
            ),
        ),
        (
            "`.art` shorter than the mark",
            with_marked(|files| files.art = sound(700)),
            vec![named(), F::ListLostArticles],
            Goal::Refuse(Refusal::Segment {
                base: BASE,
                offset: 700,
                what: "it ends before what was committed to it",
            }),
        ),
        (
            // `fsck --repair`.
            "`.art` shorter than the mark",
            Evidence {
                losses: Losses::Accept,
                ..with_marked(|files| files.art = sound(700))
            },
            vec![named()],
            Goal::Open(
                APPLIED,
                then(
                    vec![
                        S::AcceptLostTail(700),
                        S::RenewDerived(BASE),
                        S::RenewCancels(30),
                        S::RenewIndex,
                        S::OpenDerived(restart(30)),
                        replay(BASE, SegmentPlace::Newest, KNOWN),
                    ],
                    {
                        let mut steps = renewed(replayed());
                        steps.retain(|step| *step != S::FinishErasures);
                        steps
                    },
                ),
            ),
        ),
        (
            "`.art` ends with a hole of a block or more, without a record",
            as_left(),
            vec![named()],
            Goal::Open(APPLIED, vec![S::FinishErasures]),
        ),
    ]
}

#[test]
fn each_legal_state_has_its_plan() {
    for (state, evidence, files, goal) in table() {
        let plan = RecoveryPlan::of(&evidence);
        assert_eq!(plan.files, files, "{state}");
        assert_eq!(plan.goal, goal, "{state}");
    }
}

#[test]
fn the_table_has_each_legal_state_of_the_formats() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/README.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, states) = page.split_once("| state | cause |").unwrap();
    let rows = states
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let documented: Vec<&str> = rows
        .map(|row| row.split(" | ").next().unwrap()[2..].trim())
        .collect();
    let mut planned: Vec<&str> = table().iter().map(|(state, ..)| *state).collect();
    planned.dedup();
    assert_eq!(planned, documented);
}

#[test]
fn a_new_news_directory_gets_its_files() {
    let evidence = Evidence {
        index: IndexEvidence::Missing,
        key: KeyEvidence::Missing,
        active: ActiveEvidence::Unrecorded,
        expired: Presence::Missing,
        cancels: CancelsEvidence::Missing,
        marked: None,
        survey: surveyed(&[]),
        ..as_left()
    };
    let plan = RecoveryPlan::of(&evidence);
    let files = [
        FileStep::RemoveUnfinished(Unfinished::NamedAndRebuilt),
        FileStep::BeginSegment(FIRST_BASE),
        FileStep::MakeKey,
        FileStep::MakeIndex(FIRST_BASE),
    ];
    assert_eq!(plan.files, files);
    let Goal::Open(_, steps) = plan.goal else {
        panic!("it is opened");
    };
    let made = [
        SpoolStep::MakeExpired,
        SpoolStep::PlaceIndex,
        SpoolStep::PrepareStates,
    ];
    assert!(made.iter().all(|step| steps.contains(step)), "{steps:?}");
    assert_eq!(
        steps.last(),
        Some(&SpoolStep::LogActive(ActiveEdit::Certain))
    );
}

#[test]
fn a_node_undoes_an_edit_and_lists_nothing() {
    let node = |evidence| Evidence {
        role: Role::Node,
        ..evidence
    };
    let plan = RecoveryPlan::of(&node(Evidence {
        active: ActiveEvidence::Touched,
        ..as_left()
    }));
    let steps = vec![
        SpoolStep::ReportActiveFaults,
        SpoolStep::KeepActive,
        SpoolStep::FinishErasures,
        SpoolStep::UndoActiveEdit(EditReport::Report),
    ];
    assert_eq!(plan.goal, Goal::Open(APPLIED, steps));
    let cut = node(with_marked(|files| files.art = sound(700)));
    assert!(
        !RecoveryPlan::of(&cut)
            .files
            .contains(&FileStep::ListLostArticles)
    );
}

fn offsets() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(SEGMENT_HEADER_BYTES), 65..1200_u64]
}

fn bases() -> impl Strategy<Value = u64> {
    (0..3_u64).prop_map(|number| BASE + number * SPAN)
}

fn arts() -> impl Strategy<Value = ArtEvidence> {
    let form = prop_oneof![Just(SegmentForm::Plain), Just(SegmentForm::Rewritten)];
    prop_oneof![
        Just(ArtEvidence::Missing),
        offsets().prop_map(damaged),
        (offsets(), form).prop_map(|(length, form)| ArtEvidence::Sound {
            length,
            span: SPAN,
            form
        }),
    ]
}

fn watermarks() -> impl Strategy<Value = Option<Watermark>> {
    let mark =
        (bases(), offsets(), offsets(), 0..3_u64).prop_map(|(base, art_end, his_end, small)| {
            Watermark {
                sequence: 1,
                base,
                art_end,
                his_end,
                ovr_end: small,
                cancels_end: small,
                exp_end: small,
                newest: 0,
            }
        });
    prop::option::of(mark)
}

fn marks_of_any_kind() -> impl Strategy<Value = IndexEvidence> {
    let run = prop::sample::select(vec![
        MarkRun::SinceMount,
        MarkRun::BeforeMount,
        MarkRun::Earlier,
        MarkRun::Unknown,
    ]);
    let syncs = prop::sample::select(vec![Syncs::Good, Syncs::Doubted]);
    let found = (run, syncs, watermarks(), watermarks(), watermarks());
    prop_oneof![
        1 => Just(IndexEvidence::Missing),
        1 => Just(IndexEvidence::OfLostSegment),
        6 => found.prop_map(|(run, syncs, published, checkpoint, synced)| {
            IndexEvidence::Found(Marks {
                run,
                syncs,
                published,
                checkpoint,
                synced: synced.map(place_of),
            })
        }),
    ]
}

fn any_evidence() -> impl Strategy<Value = Evidence> {
    let key = prop::sample::select(vec![
        KeyEvidence::Right,
        KeyEvidence::Wrong,
        KeyEvidence::Missing,
    ]);
    let active = prop::sample::select(vec![
        ActiveEvidence::Missing,
        ActiveEvidence::AsWritten,
        ActiveEvidence::Touched,
        ActiveEvidence::Resized,
        ActiveEvidence::Unrecorded,
    ]);
    let cancels = prop_oneof![
        Just(CancelsEvidence::Missing),
        Just(CancelsEvidence::Unmarked),
        Just(CancelsEvidence::Damaged),
        (0..3_u64).prop_map(|length| CancelsEvidence::Whole { length }),
    ];
    let content = prop::sample::select(vec![
        DerivedContent::Fits,
        DerivedContent::DoesNotFit,
        DerivedContent::Overwritten,
    ]);
    let marked = (arts(), offsets(), 0..3_u64, content).prop_map(|(art, his, small, content)| {
        MarkedSegment {
            art,
            his,
            ovr: small,
            exp: small,
            content,
        }
    });
    let survey = (
        prop::collection::btree_map(bases(), arts(), 0..4),
        prop::option::of(offsets()),
        prop::collection::vec(bases(), 0..3),
    )
        .prop_map(
            |(segments, newest_history_end, unreadable_histories)| LogSurvey {
                segments: segments
                    .into_iter()
                    .map(|(base, art)| SegmentEvidence { base, art })
                    .collect(),
                newest_history_end,
                unreadable_histories,
            },
        );
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    let files = (prop::option::of(marked), prop::option::of(survey));
    (marks_of_any_kind(), key, active, cancels, files, flags).prop_map(
        |(index, key, active, cancels, (marked, survey), (repair, node, has_expired))| Evidence {
            segment_bytes: SPAN,
            losses: if repair {
                Losses::Accept
            } else {
                Losses::Refuse
            },
            role: if node { Role::Node } else { Role::Alone },
            known_whole: None,
            index,
            key,
            active,
            expired: if has_expired {
                Presence::Present
            } else {
                Presence::Missing
            },
            cancels,
            marked,
            survey,
        },
    )
}

/// Checks that a plan to open ends with the whole log replayed, published and checkpointed, with an index and a key.
fn check_steps(evidence: &Evidence, files: &[FileStep], mark: Watermark, steps: &[SpoolStep]) {
    let at = |wanted: &SpoolStep| steps.iter().position(|step| step == wanted);
    let replays: Vec<(usize, SegmentReplay)> = steps
        .iter()
        .enumerate()
        .filter_map(|(place, step)| match step {
            SpoolStep::Replay(replay) => Some((place, *replay)),
            _ => None,
        })
        .collect();
    let makes_key = files.contains(&FileStep::MakeKey);
    assert_eq!(evidence.key == KeyEvidence::Missing, makes_key);
    let makes_active = files.contains(&FileStep::RebuildActive);
    assert_eq!(evidence.active == ActiveEvidence::Missing, makes_active);
    let Some((last, newest)) = replays.last() else {
        // Nothing to replay: the files are published and end as they should.
        let start = evidence.index.start().unwrap();
        assert_eq!(start.basis, Basis::Applied);
        assert!(evidence.ends_at(&mark));
        assert_eq!(at(&SpoolStep::Checkpoint), None);
        return;
    };
    assert_eq!(replays[0].1.base, mark.base);
    assert!(
        replays
            .windows(2)
            .all(|pair| pair[0].1.base < pair[1].1.base)
    );
    assert!(newest.place == SegmentPlace::Newest);
    let sealed = &replays[..replays.len() - 1];
    assert!(
        sealed
            .iter()
            .all(|(_, replay)| replay.place == SegmentPlace::Sealed)
    );
    let later = evidence.survey.iter().flat_map(|survey| &survey.segments);
    for segment in later.filter(|segment| segment.base > mark.base) {
        assert!(
            replays
                .iter()
                .any(|(_, replay)| replay.base == segment.base)
        );
    }
    let checkpoint = at(&SpoolStep::Checkpoint).unwrap();
    assert!(*last < checkpoint);
    // The log has what is synced now, before its names count and a checkpoint relies on them.
    assert!(at(&SpoolStep::SyncDirectories).unwrap() < checkpoint);
    let is_made = evidence.index.start().is_none();
    let makes_index = files
        .iter()
        .any(|step| matches!(step, FileStep::MakeIndex(_)));
    assert_eq!(is_made, makes_index);
    let renews_index = at(&SpoolStep::RenewIndex).is_some();
    let placed = at(&SpoolStep::PlaceIndex);
    assert_eq!(placed.is_some(), makes_index || renews_index);
    assert!(placed.is_none_or(|placed| placed > checkpoint));
    let collected = steps
        .iter()
        .position(|step| matches!(step, SpoolStep::CollectCancels(_)));
    let put = at(&SpoolStep::PutCancels);
    assert_eq!(collected.is_some(), put.is_some());
    assert!(put.is_none_or(|put| put > collected.unwrap() && put < replays[0].0));
    let opened = steps
        .iter()
        .position(|step| matches!(step, SpoolStep::OpenDerived(_)));
    if steps.contains(&SpoolStep::RenewDerived(mark.base)) {
        assert!(opened.is_some_and(|opened| opened < replays[0].0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn any_evidence_leads_to_a_checkpoint_or_to_an_error_with_a_file(evidence in any_evidence()) {
        let plan = RecoveryPlan::of(&evidence);
        match plan.goal {
            Goal::Open(mark, steps) => check_steps(&evidence, &plan.files, mark, &steps),
            Goal::Refuse(Refusal::NoSegments) => prop_assert!(evidence.marked.is_none()),
            Goal::Refuse(Refusal::Segment { base, what, .. }) => {
                let marked = evidence.index.start().map(|start| start.mark.base);
                let listed = evidence.survey.iter().flat_map(|survey| &survey.segments);
                let known: Vec<u64> = marked.into_iter().chain(listed.map(|segment| segment.base)).collect();
                prop_assert!(known.contains(&base));
                prop_assert!(!what.is_empty());
            }
        }
    }
}
