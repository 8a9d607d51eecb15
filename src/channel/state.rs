//! The states of one call's channel.

use std::task::{Poll, Waker};

/// The channel of one call: requests `Q` of the script, answers `A` of its caller, and at last an end `E`.
///
/// `S` stops a running slice, and `H` is where the call lives between its slices.
#[derive(Debug)]
pub(crate) struct Channel<Q, A, E, S, H> {
    phase: Phase<Q, A, E>,
    /// A slice runs for this call now.
    running: Option<S>,
    /// Where it lives, from its first pause on.
    home: Option<H>,
    waker: Option<Waker>,
    /// How many requests were taken.
    number: u32,
}

#[derive(Debug)]
enum Phase<Q, A, E> {
    /// Nobody has asked for anything yet.
    New,
    /// In the queue, or on the way there.
    Queued,
    /// With the worker: it runs, or waits for a promise.
    Busy,
    /// The script has asked, and its caller has not come for it.
    Offered(Q),
    /// The caller has the floor, and may have an answer ready.
    Held(Option<A>),
    /// The caller wants to go on, and the worker was told.
    Resumed(Option<A>),
    /// The script is being closed, and the caller waits for that.
    Closing,
    Ended(E),
    /// The end was taken, or nobody wants it.
    Over,
}

/// What has to be done for a caller that wants to go on.
#[derive(Debug, PartialEq)]
pub(crate) enum Ask<H> {
    /// Put the call into the queue.
    Submit,
    /// Tell the worker that there is an answer.
    Tell(H),
    /// Nothing: the next event comes by itself.
    Wait,
}

/// What has to be done for a caller that has left.
#[derive(Debug, PartialEq)]
pub(crate) enum Leave<S, H> {
    /// Nothing: it never runs, or has ended, or the worker finds out at the end of the slice.
    Nothing,
    /// Stop the slice that runs.
    Stop(S),
    /// Tell the worker to close what it holds.
    Tell(H),
}

/// When a slice is stopped whose caller leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopping {
    AtOnce,
    /// It goes on to its next pause, where the script can be closed.
    AtPause,
}

/// What a caller does that wants no more of its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    Goes,
    /// It waits until the script is closed.
    Stays,
}

/// What has to be done for a caller that has left, and what nobody needs any more.
pub(crate) type Left<S, H, Q, A, E> = (Leave<S, H>, Option<Rest<Q, A, E>>);

/// Who is to be told of an end, and what nobody needs any more.
pub(crate) type Told<Q, A, E> = (Option<Waker>, Rest<Q, A, E>);

/// What a caller is told.
#[derive(Debug, PartialEq)]
pub(crate) enum Event<Q, E> {
    Request(Q),
    End(E),
    /// There was an end, and it was taken.
    Over,
}

/// Whether a slice may run.
#[derive(Debug, PartialEq, Clone, Copy)]
pub(crate) enum Begin {
    Yes,
    /// Its caller has left: all that is left to do is closing it.
    Left,
}

/// An answer that nobody waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unwanted {
    /// There is no request, or it was not taken yet.
    NotAsked,
    /// The request has its answer.
    Answered,
    /// The call has ended.
    Ended,
    /// The answer belongs to an earlier request.
    Late,
}

impl<Q, A, E, S, H: Clone> Channel<Q, A, E, S, H> {
    pub(crate) fn new() -> Self {
        Channel { phase: Phase::New, running: None, home: None, waker: None, number: 0 }
    }

    // The caller's side.

    /// The caller wants the next event.
    pub(crate) fn ask(&mut self) -> Ask<H> {
        match &mut self.phase {
            Phase::New => {
                self.phase = Phase::Queued;
                Ask::Submit
            }
            Phase::Held(answer) => {
                self.phase = Phase::Resumed(answer.take());
                match &self.home {
                    Some(home) => Ask::Tell(home.clone()),
                    None => Ask::Wait,
                }
            }
            _ => Ask::Wait,
        }
    }

    /// The next event, if there is one. The last waker is woken when there is.
    pub(crate) fn poll(&mut self, waker: &Waker) -> Poll<Event<Q, E>> {
        match &mut self.phase {
            Phase::New | Phase::Queued | Phase::Busy | Phase::Resumed(_) | Phase::Held(_) | Phase::Closing => {
                match &self.waker {
                    Some(known) if known.will_wake(waker) => {}
                    _ => self.waker = Some(waker.clone()),
                }
                Poll::Pending
            }
            phase @ Phase::Offered(_) => {
                self.number = self.number.wrapping_add(1);
                match std::mem::replace(phase, Phase::Held(None)) {
                    Phase::Offered(request) => Poll::Ready(Event::Request(request)),
                    _ => Poll::Ready(Event::Over),
                }
            }
            phase @ (Phase::Ended(_) | Phase::Over) => match std::mem::replace(phase, Phase::Over) {
                Phase::Ended(end) => Poll::Ready(Event::End(end)),
                _ => Poll::Ready(Event::Over),
            },
        }
    }

    /// Whether there is an end. Where there is none, that waker is woken when there is.
    pub(crate) fn poll_over(&mut self, waker: &Waker) -> bool {
        if self.is_over() {
            return true;
        }
        self.waker = Some(waker.clone());
        false
    }

    /// The number of the request that the caller has and that may be answered.
    pub(crate) fn asked(&self) -> Option<u32> {
        matches!(self.phase, Phase::Held(None)).then_some(self.number)
    }

    /// The number of the request that was taken last; 0 before the first.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// The caller answers the request of that number. An answer that nobody waits for comes back.
    pub(crate) fn answer(&mut self, number: u32, answer: A) -> Result<(), (Unwanted, A)> {
        let unwanted = match &mut self.phase {
            Phase::Held(place @ None) if number == self.number => {
                *place = Some(answer);
                return Ok(());
            }
            Phase::Held(None) => Unwanted::Late,
            Phase::Held(Some(_)) | Phase::Resumed(_) if number == self.number => Unwanted::Answered,
            Phase::Closing | Phase::Ended(_) | Phase::Over => Unwanted::Ended,
            _ if number == self.number && number > 0 => Unwanted::Answered,
            _ if number > 0 => Unwanted::Late,
            _ => Unwanted::NotAsked,
        };
        Err((unwanted, answer))
    }

    /// The caller leaves, or stays only for the end of the closing, which is the next event then.
    pub(crate) fn leave(&mut self, stopping: Stopping, caller: Caller) -> Left<S, H, Q, A, E> {
        let wait = caller == Caller::Stays;
        let next = if wait { Phase::Closing } else { Phase::Over };
        match &self.phase {
            Phase::New | Phase::Queued => {
                let rest = std::mem::replace(&mut self.phase, Phase::Over);
                (Leave::Nothing, Some(Rest(rest)))
            }
            Phase::Ended(_) | Phase::Over if wait => (Leave::Nothing, None),
            Phase::Ended(_) | Phase::Over => {
                (Leave::Nothing, Some(Rest(std::mem::replace(&mut self.phase, Phase::Over))))
            }
            Phase::Closing => {
                self.phase = next;
                (Leave::Nothing, None)
            }
            Phase::Busy if self.running.is_some() => {
                self.phase = next;
                match self.running.take() {
                    Some(stop) if stopping == Stopping::AtOnce => (Leave::Stop(stop), None),
                    running => {
                        self.running = running;
                        (Leave::Nothing, None)
                    }
                }
            }
            Phase::Busy | Phase::Offered(_) | Phase::Held(_) | Phase::Resumed(_) => {
                let rest = std::mem::replace(&mut self.phase, next);
                let leave = match &self.home {
                    Some(home) => Leave::Tell(home.clone()),
                    None => Leave::Nothing,
                };
                (leave, Some(Rest(rest)))
            }
        }
    }

    // The worker's side.

    /// A slice begins, which `stop` stops.
    pub(crate) fn begin(&mut self, stop: S) -> Begin {
        match self.phase {
            Phase::New | Phase::Queued => self.phase = Phase::Busy,
            Phase::Closing | Phase::Ended(_) | Phase::Over => return Begin::Left,
            Phase::Busy | Phase::Offered(_) | Phase::Held(_) | Phase::Resumed(_) => {}
        }
        self.running = Some(stop);
        Begin::Yes
    }

    /// The answer that the caller wants to go on with; the inner `None` is going on without one. Nothing where it does not want to.
    pub(crate) fn take_answer(&mut self) -> Option<Option<A>> {
        match &mut self.phase {
            Phase::Resumed(answer) => {
                let answer = answer.take();
                self.phase = Phase::Busy;
                Some(answer)
            }
            _ => None,
        }
    }

    /// The slice is over with a request, or (`None`) without one, and the call lives there from now on. False where the caller has left.
    pub(crate) fn pause(&mut self, request: Option<Q>, home: impl FnOnce() -> H) -> Result<Option<Waker>, Option<Q>> {
        self.running = None;
        match self.phase {
            Phase::Closing | Phase::Ended(_) | Phase::Over => return Err(request),
            _ => {}
        }
        if self.home.is_none() {
            self.home = Some(home());
        }
        match request {
            None => Ok(None),
            Some(request) => {
                self.phase = Phase::Offered(request);
                Ok(self.waker.take())
            }
        }
    }

    /// The call has ended. An end that nobody wants comes back.
    pub(crate) fn end(&mut self, end: E) -> Result<Told<Q, A, E>, E> {
        self.running = None;
        self.home = None;
        match self.phase {
            Phase::Ended(_) | Phase::Over => Err(end),
            _ => {
                let rest = std::mem::replace(&mut self.phase, Phase::Ended(end));
                Ok((self.waker.take(), Rest(rest)))
            }
        }
    }

    /// Whether nobody waits for an end any more.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Ended(_) | Phase::Over)
    }

    /// Whether its caller has left, so that the script is to be closed.
    pub(crate) fn is_left(&self) -> bool {
        matches!(self.phase, Phase::Closing | Phase::Ended(_) | Phase::Over)
    }

    /// Whether the caller has the floor: the script waits for it.
    pub(crate) fn waits_for_caller(&self) -> bool {
        matches!(self.phase, Phase::Offered(_) | Phase::Held(_))
    }
}

/// What a phase held when it ended. To be dropped outside of the lock: it may be the embedder's.
#[derive(Debug)]
#[must_use = "drop it outside of the lock"]
pub(crate) struct Rest<Q, A, E>(#[allow(dead_code)] Phase<Q, A, E>);

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
