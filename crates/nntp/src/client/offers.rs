//! The articles in flight to a peer: CHECK and TAKETHIS (RFC 4644), or IHAVE (RFC 3977, 6.3.2).
//!
//! A peer that wants nearly all articles gets them without being asked (TAKETHIS alone), which saves it and us a round trip and a
//! command an article. One that has many of them already is asked first (CHECK).

use std::collections::VecDeque;
use std::hash::BuildHasher;

use hashbrown::DefaultHashBuilder;

use super::reply::{PeerError, Reply, shown};

/// The part of wanted articles above which a peer is not asked any more, and below which it is asked again, thousandths. The gap
/// between them keeps a peer from changing with each reply.
const WANTED_TO_TRUST: u32 = 960;
const WANTED_TO_ASK: u32 = 900;
/// The last replies count for about so many.
const REPLIES_COUNTED: u32 = 64;

/// How a peer takes articles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sends {
    /// Streaming: any number of commands without waiting for replies.
    Streaming,
    /// IHAVE, one article at a time.
    Ihave,
}

/// The result of offering an article.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// 235, 239: the peer has it now.
    Accepted,
    /// 435, 438: the peer does not want it, most often because it has it. The text of the reply after the message-id; most often empty.
    NotWanted(String),
    /// 437, 439: the peer refused the article after it had it. The text of the reply, with the message-id.
    Refused(String),
    /// 431, 436, 403: to be offered again later.
    Deferred,
    /// 500, 501, 503, 504: the peer cannot process the command that offered the article, or the article after 335. The reply.
    Failed(String),
}

/// The consequence of a reply.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<T> {
    /// The peer wants the article: [`Offers::send`] it.
    Wanted(T),
    /// The article is settled.
    Settled(T, Outcome),
}

/// The articles in flight on one connection. `T` is what the caller knows an article by.
#[derive(Debug)]
pub struct Offers<T> {
    sends: Sends,
    window: usize,
    in_flight: VecDeque<InFlight<T>>,
    /// The peer has answered a later command than the oldest.
    is_overtaken: bool,
    /// Hashes message-ids with a secret key.
    hasher: DefaultHashBuilder,
    /// Wanted articles, thousandths of [`REPLIES_COUNTED`] replies.
    wanted: u32,
    is_trusted: bool,
}

#[derive(Debug)]
struct InFlight<T> {
    article: T,
    /// The hash of its message-id stands for the id. Two of 16,000 ids have the same one with a probability of about 2^-37; replies in
    /// the order of the commands settle the right article even then.
    id: u64,
    stage: Stage,
}

/// The command that the peer has not answered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Check,
    Takethis,
    Ihave,
    /// The article after 335.
    Body,
}

impl<T> Offers<T> {
    /// No article in flight. `window`: most articles in flight, at least 1; for IHAVE it is 1.
    pub fn new(sends: Sends, window: usize) -> Offers<T> {
        Offers {
            sends,
            window: match sends {
                Sends::Streaming => window.max(1),
                Sends::Ihave => 1,
            },
            in_flight: VecDeque::new(),
            is_overtaken: false,
            hasher: DefaultHashBuilder::default(),
            wanted: 0,
            is_trusted: false,
        }
    }

    /// Whether another article may be offered now.
    pub fn has_room(&self) -> bool {
        self.in_flight.len() < self.window
    }

    /// How the peer takes articles.
    pub fn sends(&self) -> Sends {
        self.sends
    }

    /// Most articles in flight.
    pub fn window(&self) -> usize {
        self.window
    }

    /// Allows one more article in flight, up to `most`; for IHAVE it stays one.
    pub fn widen(&mut self, most: usize) {
        if self.sends == Sends::Streaming {
            self.window = (self.window + 1).min(most);
        }
    }

    /// Number of articles in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Whether the peer has answered a later command since the oldest one in flight became the oldest. Many servers answer CHECK before an earlier
    /// TAKETHIS; if it lasts, the reply to the oldest is lost (RFC 3977, 3.5).
    pub fn is_overtaken(&self) -> bool {
        self.is_overtaken
    }

    /// Whether the article itself follows the next offer at once.
    pub fn is_trusted(&self) -> bool {
        self.sends == Sends::Streaming && self.is_trusted
    }

    /// Offers an article: appends the command to `out`. Returns true if the article itself must follow at once, in wire form
    /// with its final line of one dot.
    pub fn offer(&mut self, id: &[u8], article: T, out: &mut Vec<u8>) -> bool {
        let (stage, command) = match (self.sends, self.is_trusted) {
            (Sends::Ihave, _) => (Stage::Ihave, &b"IHAVE "[..]),
            (Sends::Streaming, true) => (Stage::Takethis, &b"TAKETHIS "[..]),
            (Sends::Streaming, false) => (Stage::Check, &b"CHECK "[..]),
        };
        self.push(stage, command, (id, article), out);
        stage == Stage::Takethis
    }

    /// Sends an article that the peer [wants](Event::Wanted): appends the command, if there is one, after which the article must follow
    /// at once.
    pub fn send(&mut self, id: &[u8], article: T, out: &mut Vec<u8>) {
        match self.sends {
            Sends::Streaming => self.push(Stage::Takethis, b"TAKETHIS ", (id, article), out),
            Sends::Ihave => self.in_flight.push_back(InFlight {
                article,
                id: self.hasher.hash_one(id),
                stage: Stage::Body,
            }),
        }
    }

    fn push(&mut self, stage: Stage, command: &[u8], (id, article): (&[u8], T), out: &mut Vec<u8>) {
        out.extend_from_slice(command);
        out.extend_from_slice(id);
        out.extend_from_slice(b"\r\n");
        self.in_flight.push_back(InFlight {
            article,
            id: self.hasher.hash_one(id),
            stage,
        });
    }

    /// Takes a reply. Replies to streaming commands name their article, and may come in any order; one without a name belongs to the
    /// oldest command. An error that any command may get (RFC 3977, 3.2.1.1) settles the article of its command, except behind TAKETHIS: a peer that
    /// does not know this command takes the article's lines for commands.
    ///
    /// # Errors
    /// The reply does not belong to anything in flight, or ends the connection. What is in flight then is not known to have
    /// arrived: [`Offers::into_in_flight`].
    pub fn receive(&mut self, line: &[u8]) -> Result<Event<T>, PeerError> {
        let reply = Reply::parse(line)?;
        let is_general = matches!(reply.code, 500 | 501 | 503 | 504);
        let outcome = |stage| match (stage, reply.code) {
            (Stage::Takethis, 500..) => None,
            _ if is_general => {
                let code = reply.code;
                Some(Some(Outcome::Failed(format!(
                    "{code} {}",
                    reply.shown_text()
                ))))
            }
            (Stage::Check, 238) | (Stage::Ihave, 335) => Some(None),
            (Stage::Takethis, 239) | (Stage::Body, 235) => Some(Some(Outcome::Accepted)),
            (Stage::Check, 438) | (Stage::Ihave, 435) => {
                Some(Some(Outcome::NotWanted(shown(reply.reason()))))
            }
            (Stage::Takethis, 439) | (Stage::Body, 437) => {
                Some(Some(Outcome::Refused(reply.shown_text())))
            }
            (Stage::Check, 431) | (Stage::Ihave | Stage::Body, 436) | (_, 403) => {
                Some(Some(Outcome::Deferred))
            }
            _ => None,
        };
        let place = match (self.sends, reply.message_id()) {
            (Sends::Streaming, Some(id)) => {
                let id = self.hasher.hash_one(id);
                let is_of =
                    |article: &InFlight<T>| article.id == id && outcome(article.stage).is_some();
                let place = self.in_flight.iter().position(is_of);
                // `500 <command> unknown' names no article.
                place.or(is_general.then_some(0))
            }
            _ => Some(0),
        };
        let found = place.and_then(|place| Some((place, self.in_flight.get(place)?.stage)));
        let Some((place, outcome)) = found.and_then(|(at, stage)| Some((at, outcome(stage)?)))
        else {
            return Err(reply.to_error());
        };
        let Some(InFlight { article, .. }) = self.in_flight.remove(place) else {
            return Err(reply.to_error());
        };
        self.is_overtaken = place > 0;
        self.count(&outcome);
        Ok(match outcome {
            None => Event::Wanted(article),
            Some(outcome) => Event::Settled(article, outcome),
        })
    }

    /// Counts whether the peer wanted an article; decides whether it is asked before the next ones.
    fn count(&mut self, outcome: &Option<Outcome>) {
        let wanted = match outcome {
            None | Some(Outcome::Accepted) => 1000,
            Some(Outcome::NotWanted(_) | Outcome::Refused(_)) => 0,
            Some(Outcome::Deferred | Outcome::Failed(_)) => return,
        };
        self.wanted += wanted;
        self.wanted -= self.wanted / REPLIES_COUNTED;
        let part = self.wanted / REPLIES_COUNTED;
        self.is_trusted = if self.is_trusted {
            part >= WANTED_TO_ASK
        } else {
            part >= WANTED_TO_TRUST
        };
    }

    /// Articles in flight, oldest first, to be offered again on another connection.
    pub fn into_in_flight(self) -> impl Iterator<Item = T> {
        self.in_flight.into_iter().map(|article| article.article)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(number: u32) -> Vec<u8> {
        format!("<{number}@x>").into_bytes()
    }

    /// A peer that answers as a server does; `order` chooses whose turn it is.
    struct Peer {
        commands: VecDeque<(bool, u32)>,
    }

    #[test]
    fn a_peer_that_wants_all_is_soon_not_asked() {
        let mut offers = Offers::new(Sends::Streaming, 10);
        let mut asked = 0;
        for number in 0..1000 {
            let mut out = Vec::new();
            if !offers.offer(&id(number), number, &mut out) {
                asked += 1;
                let line = format!("238 <{number}@x>");
                assert_eq!(offers.receive(line.as_bytes()), Ok(Event::Wanted(number)));
                offers.send(&id(number), number, &mut out);
            }
            let line = format!("239 <{number}@x>");
            let settled = Event::Settled(number, Outcome::Accepted);
            assert_eq!(offers.receive(line.as_bytes()), Ok(settled));
        }
        assert!(asked < 200, "{asked}");
        // Then it has all of them.
        let mut sent = 0;
        for number in 0..1000 {
            let mut out = Vec::new();
            let line = if offers.offer(&id(number), number, &mut out) {
                sent += 1;
                format!("439 <{number}@x>")
            } else {
                format!("438 <{number}@x>")
            };
            assert!(matches!(
                offers.receive(line.as_bytes()),
                Ok(Event::Settled(..))
            ));
        }
        assert!(sent < 20, "{sent}");
    }

    #[test]
    fn replies_of_ihave() {
        let mut offers = Offers::new(Sends::Ihave, 50);
        let mut out = Vec::new();
        assert!(!offers.offer(b"<1@x>", 1, &mut out));
        assert!(!offers.has_room());
        assert_eq!(out, b"IHAVE <1@x>\r\n");
        assert_eq!(offers.receive(b"335 send it"), Ok(Event::Wanted(1)));
        offers.send(b"<1@x>", 1, &mut out);
        assert_eq!(
            offers.receive(b"437 too old"),
            Ok(Event::Settled(1, Outcome::Refused("too old".to_owned())))
        );
        offers.offer(b"<2@x>", 2, &mut out);
        assert_eq!(
            offers.receive(b"436 later"),
            Ok(Event::Settled(2, Outcome::Deferred))
        );
        offers.offer(b"<3@x>", 3, &mut out);
        let error = offers.receive(b"480 log in").unwrap_err();
        assert!(matches!(error, PeerError::NotPermitted(_)));
        assert_eq!(offers.into_in_flight().collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn a_general_error_settles_the_oldest_command() {
        for (sends, command, error) in [
            (Sends::Streaming, "CHECK", "500 what?"),
            (Sends::Streaming, "CHECK", "501 no such id"),
            (Sends::Streaming, "CHECK", "503 internal fault"),
            (Sends::Streaming, "CHECK", "501 <1@x> no such id"),
            (Sends::Streaming, "CHECK", "500 <CHECK> is unknown"),
            (Sends::Ihave, "IHAVE", "501 <1@x> no such id"),
        ] {
            let mut offers = Offers::new(sends, 10);
            let mut out = Vec::new();
            offers.offer(b"<1@x>", 1, &mut out);
            assert!(out.starts_with(command.as_bytes()));
            if sends == Sends::Streaming {
                offers.offer(b"<2@x>", 2, &mut out);
            }
            let failed = Outcome::Failed(error.to_owned());
            let event = offers.receive(error.as_bytes());
            assert_eq!(event, Ok(Event::Settled(1, failed)));
            let left: Vec<_> = offers.into_in_flight().collect();
            assert_eq!(left.len(), usize::from(sends == Sends::Streaming));
        }
        // One that names another article than the oldest.
        let mut offers = Offers::new(Sends::Streaming, 10);
        let mut out = Vec::new();
        for number in 1..=2 {
            offers.offer(&id(number), number, &mut out);
        }
        let event = offers.receive(b"501 <2@x> no such id");
        assert!(matches!(event, Ok(Event::Settled(2, Outcome::Failed(_)))));
        let event = offers.receive(b"403 internal fault");
        assert_eq!(event, Ok(Event::Settled(1, Outcome::Deferred)));
        offers.offer(b"<1@x>", 1, &mut out);
        // A permission that is denied, and the end of the connection, concern all articles.
        for line in ["502 go away", "400 bye", "480 log in"] {
            assert!(offers.receive(line.as_bytes()).is_err(), "{line}");
        }
        // The text of an article follows IHAVE, but TAKETHIS may be unknown.
        let mut offers = Offers::new(Sends::Ihave, 1);
        offers.offer(b"<1@x>", 1, &mut out);
        assert_eq!(offers.receive(b"335 send it"), Ok(Event::Wanted(1)));
        offers.send(b"<1@x>", 1, &mut out);
        let event = offers.receive(b"503 internal fault");
        assert!(matches!(event, Ok(Event::Settled(1, Outcome::Failed(_)))));
        let mut offers = Offers::new(Sends::Streaming, 1);
        offers.offer(b"<1@x>", 1, &mut out);
        assert_eq!(offers.receive(b"238 <1@x>"), Ok(Event::Wanted(1)));
        offers.send(b"<1@x>", 1, &mut out);
        assert!(offers.receive(b"500 what?").is_err());
        assert_eq!(offers.into_in_flight().collect::<Vec<_>>(), [1]);
    }

    proptest! {
        /// Whatever the order of the replies, each article is settled once, as the peer said.
        #[test]
        fn each_article_is_settled_once(
            count in 1u32..200, window in 1usize..20, picks in prop::collection::vec((any::<prop::sample::Index>(), 0..6u8), 2000),
        ) {
            let mut offers = Offers::new(Sends::Streaming, window);
            let mut peer = Peer { commands: VecDeque::new() };
            let mut settled = std::collections::BTreeMap::new();
            let (mut next, mut out) = (0, Vec::new());
            for (pick, says) in picks {
                while next < count && offers.has_room() {
                    let has_body = offers.offer(&id(next), next, &mut out);
                    peer.commands.push_back((has_body, next));
                    next += 1;
                }
                if peer.commands.is_empty() {
                    break;
                }
                let at = pick.index(peer.commands.len());
                let (has_body, number) = peer.commands.remove(at).unwrap();
                let code = match (has_body, says) {
                    (true, 0) => 439,
                    (true, _) => 239,
                    (false, 0) => 438,
                    (false, 1) => 431,
                    (false, _) => 238,
                };
                let line = format!("{code} <{number}@x> text");
                match offers.receive(line.as_bytes()).unwrap() {
                    Event::Wanted(article) => {
                        prop_assert_eq!((article, code), (number, 238));
                        offers.send(&id(number), number, &mut out);
                        peer.commands.push_back((true, number));
                    }
                    Event::Settled(article, outcome) => {
                        prop_assert_eq!(article, number);
                        let expected = match code {
                            239 => Outcome::Accepted,
                            438 => Outcome::NotWanted("text".to_owned()),
                            431 => Outcome::Deferred,
                            _ => Outcome::Refused(format!("<{number}@x> text")),
                        };
                        prop_assert_eq!(&outcome, &expected);
                        prop_assert!(settled.insert(article, outcome).is_none());
                    }
                }
            }
            prop_assert_eq!(settled.len() + offers.in_flight(), next as usize);
        }

        #[test]
        fn nonsense_settles_nothing(line in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut offers = Offers::new(Sends::Streaming, 10);
            let mut out = Vec::new();
            offers.offer(b"<1@x>", 1, &mut out);
            if offers.receive(&line).is_err() {
                prop_assert_eq!(offers.in_flight(), 1);
            }
        }
    }
}
