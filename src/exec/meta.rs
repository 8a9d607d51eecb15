//! What a call is about, apart from its work.

use std::cell::RefCell;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use super::{Caching, ExceptionHandler, Limits, Priority};
use crate::clock::Moment;
use crate::script::Script;
use crate::vm::Logger;
use crate::wire::Policy;

/// What calls may have in common.
pub(crate) struct Profile {
    pub(crate) script: Arc<Script>,
    pub(crate) caching: Caching,
    pub(crate) limits: Limits,
    pub(crate) policy: Policy,
    pub(crate) priority: Priority,
    pub(crate) handler: Option<Arc<dyn ExceptionHandler>>,
    pub(crate) logger: Option<Arc<dyn Logger>>,
    /// What the run may do with files and sockets.
    #[cfg(feature = "io")]
    pub(crate) io: Option<super::Io>,
}

/// What a call is about.
pub(crate) struct Meta {
    profile: Arc<Profile>,
    pub(crate) submitted: Moment,
    pub(crate) deadline: Moment,
    /// `None` where nobody listens.
    pub(crate) span: Option<Box<tracing::Span>>,
}

thread_local! {
    /// The profile of the thread's last call. Held weakly: it holds the script's snapshot.
    static LAST: RefCell<Weak<Profile>> = const { RefCell::new(Weak::new()) };
}

impl Profile {
    /// Calls that are alike and in flight together, such as a hundred thousand that are paused, share one profile.
    fn shared(self) -> Arc<Profile> {
        LAST.with_borrow_mut(|last| {
            if let Some(last) = last.upgrade().filter(|last| last.is_like(&self)) {
                return last;
            }
            let profile = Arc::new(self);
            *last = Arc::downgrade(&profile);
            profile
        })
    }

    fn is_like(&self, other: &Profile) -> bool {
        Arc::ptr_eq(&self.script, &other.script)
            && self.caching == other.caching
            && self.limits == other.limits
            && self.policy == other.policy
            && self.priority == other.priority
            && self.handler.is_none()
            && other.handler.is_none()
            && self.logger.is_none()
            && other.logger.is_none()
            && self.is_granted_like(other)
    }

    #[cfg(feature = "io")]
    fn is_granted_like(&self, other: &Profile) -> bool {
        match (&self.io, &other.io) {
            (None, None) => true,
            (Some(io), Some(other)) => io.is_same(other),
            _ => false,
        }
    }

    #[cfg(not(feature = "io"))]
    fn is_granted_like(&self, _other: &Profile) -> bool {
        true
    }
}

impl Meta {
    /// A call that is submitted now.
    pub(crate) fn new(profile: Profile, task: &str) -> Self {
        let submitted = Moment::now();
        let deadline = profile.limits.deadline.map_or(Moment::NEVER, |deadline| submitted.after(deadline));
        let script = &profile.script;
        let span = tracing::debug_span!(
            target: "jsmill", "call",
            script = script.name(), version = script.version(), task, priority = profile.priority.name()
        );
        let span = if span.is_disabled() { None } else { Some(Box::new(span)) };
        Meta { profile: profile.shared(), submitted, deadline, span }
    }
}

impl Deref for Meta {
    type Target = Profile;

    fn deref(&self) -> &Profile {
        &self.profile
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(script: &Arc<Script>) -> Profile {
        Profile {
            script: script.clone(),
            caching: Caching::Memory,
            limits: Limits::default(),
            policy: Policy::default(),
            priority: Priority::Normal,
            handler: None,
            logger: None,
            #[cfg(feature = "io")]
            io: None,
        }
    }

    #[test]
    fn calls_that_are_alike_share_a_profile_and_others_do_not() {
        let script = Script::new("s.js", "").unwrap();
        let first = profile(&script).shared();
        assert!(Arc::ptr_eq(&first, &profile(&script).shared()));
        let other = Profile { priority: Priority::Critical, ..profile(&script) }.shared();
        assert!(!Arc::ptr_eq(&first, &other));
        let logged = Profile { logger: Some(Arc::new(|_: &crate::vm::LogLine| ())), ..profile(&script) }.shared();
        let again = Profile { logger: Some(Arc::new(|_: &crate::vm::LogLine| ())), ..profile(&script) }.shared();
        assert!(!Arc::ptr_eq(&logged, &again));
    }

    #[test]
    fn a_profile_keeps_no_snapshot_alive() {
        let script = Script::new("s.js", "").unwrap();
        let weak = Arc::downgrade(&script);
        drop(profile(&script).shared());
        drop(script);
        assert_eq!(weak.strong_count(), 0);
    }
}
