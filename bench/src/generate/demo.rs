//! The demonstration batch: sixty readable articles in twelve groups.

use super::article::Article;
use super::date;
use super::random::{Random, mix};

/// The groups of the demonstration, with their descriptions.
pub const GROUPS: &[(&str, &str)] = &[
    ("comp.lang.c", "Discussion about the C language"),
    ("comp.sys.old", "Machines that still work, and why"),
    ("comp.text.troff", "Setting text, the slow and good way"),
    ("news.admin", "For those who keep the news moving"),
    ("news.software", "Programs that carry news"),
    ("sci.astro", "Stars, telescopes, patience"),
    ("sci.space", "Everything that left the ground"),
    ("rec.bicycles", "Two wheels, no engine"),
    ("rec.food.baking", "Bread and other chemistry"),
    ("rec.gardens", "What grows, and what ate it"),
    ("misc.books", "Read anything good lately"),
    ("local.test", "Is this thing on"),
];

struct Person {
    name: &'static str,
    address: &'static str,
    organization: &'static str,
    hops: &'static str,
}

const PEOPLE: &[Person] = &[
    Person {
        name: "Rosalind Inkpen",
        address: "rosalind@cs.northmoor.example",
        organization: "Northmoor University",
        hops: "westport!northmoor",
    },
    Person {
        name: "Henrik Larkspur",
        address: "henrik@highfell.example",
        organization: "Highfell Observatory",
        hops: "seaview!copperhill!highfell",
    },
    Person {
        name: "Oona Kettlewell",
        address: "oona@greenwharf.example",
        organization: "Greenwharf Software Ltd",
        hops: "hub.transit.example!greenwharf",
    },
    Person {
        name: "Yusuf Fenwright",
        address: "yusuf@lib.stonecross.example",
        organization: "Stonecross Public Library",
        hops: "westport!oldbridge!stonecross",
    },
    Person {
        name: "Tamsin Oakshott",
        address: "tamsin@redcliff.example",
        organization: "None to speak of",
        hops: "backbone.example!redcliff",
    },
    Person {
        name: "Nils Greenaway",
        address: "nils@ee.seaview.example",
        organization: "Seaview Polytechnic",
        hops: "seaview",
    },
];

/// A question (groups, subject, text) and the replies to it, in order.
struct Thread {
    groups: &'static str,
    subject: &'static str,
    text: &'static str,
    answers: &'static [&'static str],
}

const THREADS: &[Thread] = &[
    Thread {
        groups: "comp.lang.c",
        subject: "Why does fgets keep the newline?",
        text: "gets took it away, fgets leaves it there. Is there a reason, or is it\nonly history?",
        answers: &[
            "There is a reason: without it you could not tell a line that fitted\nexactly from one that was cut short.",
            "And the last line of a file without a newline shows itself, too.",
            "Thank you both. I shall stop stripping it before I have looked at it.",
            "That sentence should be printed on the manual page.",
        ],
    },
    Thread {
        groups: "comp.sys.old,rec.gardens",
        subject: "Terminal found under the runner beans",
        text: "Digging over the far bed I hit glass. It is a terminal, complete, amber,\nwith a keyboard full of earth. Does anyone know how to clean one?",
        answers: &[
            "Distilled water, a soft brush, and a fortnight on top of the boiler.\nDo not switch it on to see whether it is dry.",
            "The beans will miss the warmth.",
            "It works! The first thing on the screen was the login prompt of a\nmachine that was scrapped before I was hired.",
            "Did you log in?",
        ],
    },
    Thread {
        groups: "comp.text.troff",
        subject: "A dot at the start of a line",
        text: "How do I print a line that begins with a dot? This one vanishes:\n\n.profile is read at login\n\nIt must be simple.",
        answers: &[
            "Put \\& in front of it. It prints nothing and takes no room, but it is\nno longer the first thing on the line, and neither is the dot.",
            "News has the same trouble, and doubles the dot instead:\n\n..\n\nis what travels when you write a dot alone.",
            "Two cures for one disease. I am content.",
            "Wait until you meet the apostrophe.",
        ],
    },
    Thread {
        groups: "news.admin,news.software",
        subject: "How large is your history file?",
        text: "Ours passed two hundred thousand lines this morning. We keep ids for a\nfortnight. What do others do?",
        answers: &[
            "A month here. Ids cost little, and every so often someone's tape comes\nback to life and sends us April again.",
            "Ours is small because we take four hierarchies. Peace is underrated.",
            "We were the tape. Sorry.",
            "At last, a signed confession in news.admin.",
            "I have kept your article, with its id, for ever.",
        ],
    },
    Thread {
        groups: "news.software",
        subject: "Counting system calls an article",
        text: "I traced our unbatcher for an evening. Twenty-three calls an article, and\nmost of them look up names that it had looked up a moment before.",
        answers: &[
            "Keep the files open that you will need again. It sounds too simple\nto be worth saying, so nobody says it.",
            "Which did you find first by guessing, and which by measuring?",
            "By guessing: none of them.",
            "That goes on the wall of the machine room.",
        ],
    },
    Thread {
        groups: "sci.astro",
        subject: "First light for the school telescope",
        text: "After two years of grinding, testing and more grinding, the eight-inch\nmirror saw Saturn last night. Forty children queued in the frost.",
        answers: &[
            "Congratulations! What figure did the mirror reach in the end?",
            "About a sixth of a wave, says the tester. A whole planet, says the queue.",
            "The queue is right. Tell us when you point it at a comet.",
            "Thursday, if the sky agrees. Bring a scarf.",
        ],
    },
    Thread {
        groups: "sci.space,sci.astro",
        subject: "Hearing a satellite with a kitchen radio",
        text: "The weather satellite goes over at ten past seven. With a wire along the\ncurtain rail I can hear it tick. Can the ticking be made into pictures?",
        answers: &[
            "Yes. Each tick is one line of the picture; two lines a second. Record\nit, and draw how loud it is from left to right.",
            "A better aerial than the curtain rail helps. A worse one is hard to find.",
            "I have coastline. I HAVE COASTLINE. Thank you, everybody.",
            "Now do it with the colours.",
        ],
    },
    Thread {
        groups: "rec.bicycles",
        subject: "Chain comes off on the third hill, never the first two",
        text: "Every Sunday, same hill, same place. I have changed the chain, and the\nring. I am running out of parts to change.",
        answers: &[
            "Change the hill.",
            "More helpfully: does the frame creak there? A loose bottom bracket\nmoves only when you stand up on the pedals.",
            "It creaked, it was loose, it is tight, and the hill is conquered.",
            "I still say: change the hill.",
        ],
    },
    Thread {
        groups: "rec.food.baking",
        subject: "Why is rye dough so sticky?",
        text: "Wheat I understand. Rye glues my hands to the bowl and the bowl to the\ntable. What is going on in there?",
        answers: &[
            "Gums where wheat has gluten: rye holds eight times its weight of water\nin them. Wet your hands instead of flouring them.",
            "And sour it. The acid stops the starch from coming apart in the oven.",
            "Wet hands! Forty years I have baked, and nobody told me.",
            "Nobody else in the house could let go of the bowl to write.",
        ],
    },
    Thread {
        groups: "rec.gardens",
        subject: "What eats the labels?",
        text: "The seedlings are untouched. The wooden labels are gone, all of them, and\nI no longer know which row is which.",
        answers: &[
            "Wasps. They scrape wood for paper. Use slate, or a good memory.",
            "So somewhere there is a nest with `Early Nantes' written on it.",
            "I have found it. It says `Early Na'. They are still working.",
            "Give them `Beetroot' next.",
        ],
    },
    Thread {
        groups: "misc.books,rec.gardens,sci.astro",
        subject: "A novel with a lighthouse, a comet and a gardener",
        text: "I read it as a child: the gardener keeps the lamp lit while everyone else\nis out looking at the sky. Blue cover. Does anyone know the title?",
        answers: &[
            "No, but now I want to read it.",
            "Blue cover does narrow it down, says the librarian, weeping.",
            "Ask in the reading room; somebody's grandmother will know.",
            "Somebody's grandmother did. Copy on its way to you by post.",
        ],
    },
    Thread {
        groups: "local.test",
        subject: "test, please ignore",
        text: "Umlaute: ä ö ü. If you can read this, so can the next machine.",
        answers: &[
            "Ignored with great care.",
            "I read it. The next machine has not complained.",
            "The next machine wishes it to be known that it can, too.",
        ],
    },
];

/// 4 May 1992, 08:00 GMT.
const STARTED: i64 = 704_966_400;

/// All articles, one day's discussion in order of time.
pub fn articles() -> Vec<Article> {
    let mut random = Random::new(mix(60));
    let mut said = Vec::new();
    for (place, thread) in THREADS.iter().enumerate() {
        said.extend(talk(place, thread, &mut random));
    }
    said.sort_by_key(|(when, _)| *when);
    said.into_iter().map(|(_, article)| article).collect()
}

/// One thread: the question and its replies, each quoting the one before.
fn talk(place: usize, thread: &Thread, random: &mut Random) -> Vec<(i64, Article)> {
    let mut when = STARTED + (place as i64) * 1_260 + random.below(600) as i64;
    let mut references: Vec<String> = Vec::new();
    let mut quoted: Option<(&str, &str)> = None;
    let mut said = Vec::new();
    for (turn, text) in std::iter::once(&thread.text)
        .chain(thread.answers)
        .enumerate()
    {
        // The asker writes every third article.
        let speaker = place + if turn % 3 == 0 { 0 } else { turn };
        let Some(person) = PEOPLE.get(speaker % PEOPLE.len()) else {
            continue;
        };
        let host = person.address.split('@').nth(1).unwrap_or("demo.example");
        let id = format!("<{}.{}@{host}>", date::stamp(when), 100 + place * 10 + turn);
        let mut body = String::new();
        if let Some((name, words)) = quoted {
            body.push_str(&format!("{name} writes:\n"));
            words
                .lines()
                .take(3)
                .for_each(|line| body.push_str(&format!("> {line}\n")));
            body.push('\n');
        }
        let initial = person.name.split(' ').next().unwrap_or("");
        body.push_str(&format!(
            "{text}\n\n-- \n{initial}, {}\n",
            person.organization
        ));
        let bytes = header(thread, person, &id, when, &references)
            + &format!("Lines: {}\n\n{body}", body.lines().count());
        said.push((
            when,
            Article {
                bytes: bytes.into_bytes(),
                id: id.clone(),
                groups: thread.groups.split(',').count(),
            },
        ));
        references.push(id);
        quoted = Some((person.name, text));
        when += 900 + random.below(9_000) as i64;
    }
    said
}

fn header(thread: &Thread, person: &Person, id: &str, when: i64, references: &[String]) -> String {
    let Person {
        name,
        address,
        organization,
        hops,
    } = person;
    let user = address.split('@').next().unwrap_or("demo");
    let subject = if references.is_empty() {
        String::new()
    } else {
        String::from("Re: ")
    } + thread.subject;
    let mut text = format!(
        "Path: {hops}!{user}\nFrom: {address} ({name})\nNewsgroups: {}\nSubject: {subject}\nMessage-ID: {id}\nDate: {}\n",
        thread.groups,
        date::plain(when),
    );
    if !references.is_empty() {
        text.push_str(&format!("References: {}\n", references.join(" ")));
    }
    text + &format!("Organization: {organization}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_group_is_talked_in() {
        let talked: HashSet<&str> = THREADS
            .iter()
            .flat_map(|thread| thread.groups.split(','))
            .collect();
        let made: HashSet<&str> = GROUPS.iter().map(|group| group.0).collect();
        assert_eq!(talked.symmetric_difference(&made).count(), 0);
    }
}
